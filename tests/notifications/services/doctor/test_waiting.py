from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications.models import DeadLetter
from notifications.services.doctor.waiting import findings
from notifications.states import State
from tests import factories
from tests.notifications.finding import codes, said

pytestmark = pytest.mark.usefixtures("seeded")


class TestDeadLetters:
    def test_are_counted(self):
        factories.message(State.DEAD_LETTERED)
        factories.message(State.DEAD_LETTERED)

        assert "Dead letters wait: 2." in said(findings(), "N080")

    def test_that_were_decided_on_are_not(self):
        factories.message(State.DEAD_LETTERED)
        DeadLetter.objects.update(resolved_at=timezone.now(), resolution=DeadLetter.Resolution.DISCARDED)

        assert codes(findings()) == []


class TestReports:
    def test_that_match_no_message_are_counted_after_a_while(self):
        factories.event(None, "delivered", received_at=timezone.now() - timedelta(minutes=11))
        factories.event(None, "delivered")

        assert "waited for more than 10 min: 1." in said(findings(), "N081")

    def test_that_have_just_come_may_still_find_theirs(self):
        factories.event(None, "delivered")

        assert codes(findings()) == []
