"""Where apps say that they have a push: without a key, since the receipt proves itself."""

from __future__ import annotations

import pytest
from django.test import Client as HttpClient

from notifications.models import DeliveryEvent
from notifications.services.apply import apply_waiting
from notifications.services.receipts import receipt_of
from notifications.states import State
from tests import factories
from tests.notifications.stories import told

URL = "/api/v1/receipts"

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture
def sent():
    """A message that a provider took."""
    return factories.message(State.SENT)


def submit(receipt, **body):
    return HttpClient().post(URL, {"receipt": receipt, **body}, content_type="application/json")


def test_is_taken_without_a_key_and_delivers(sent):
    answer = submit(receipt_of(sent.id))

    assert (answer.status_code, answer.content) == (204, b"")
    apply_waiting()
    assert told(sent)[0] == State.DELIVERED


def test_may_be_repeated_and_is_one_event(sent):
    answers = [submit(receipt_of(sent.id)).status_code for _ in range(3)]

    assert answers == [204, 204, 204]
    assert DeliveryEvent.objects.count() == 1


def test_that_is_forged_is_not_found(sent):
    answer = submit(receipt_of(sent.id)[:-2] + "xx")

    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert receipt_of(sent.id)[:20] not in answer.content.decode()
    assert DeliveryEvent.objects.count() == 0


@pytest.mark.parametrize("body", [{}, {"receipt": ""}, {"receipt": 7}, {"receipt": "x" * 201}])
def test_that_is_none_is_refused(sent, body):
    answer = HttpClient().post(URL, body, content_type="application/json")

    assert answer.status_code == 422


def test_is_told_by_post_alone(sent):
    assert HttpClient().get(URL).status_code == 405
