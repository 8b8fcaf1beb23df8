from __future__ import annotations

import pytest

from notifications.models import Route
from notifications.services.doctor.routes import findings
from tests import factories
from tests.notifications.finding import codes, said

pytestmark = pytest.mark.usefixtures("seeded")


class TestRoutes:
    def test_as_seeded_are_well(self):
        assert codes(findings()) == []

    def test_with_a_step_that_cannot_be_taken_are_named(self):
        Route.objects.create(name="by-hand", steps=[{"channel": "sms"}, {"channel": "pigeon"}])

        assert "Route by-hand is not valid. Step 2: `channel` must be one of sms, email, push, webhook." in said(
            findings(), "E070"
        )


class TestDefaultRoutes:
    def test_that_exist_are_well(self):
        client = factories.client()
        client.default_route = "sms"
        client.save()

        assert codes(findings()) == []

    def test_that_do_not_exist_are_named(self):
        client = factories.client("shop")
        client.default_route = "by-hand"
        client.save()

        sentence = said(findings(), "E071")

        assert "Client shop has the default route 'by-hand'" in sentence
        assert "Use one of email, push, push-then-sms-then-email, sms, sms-then-email and webhook." in sentence
