"""Texts that people send us: kept, and obeyed where they ask to be left alone."""

from __future__ import annotations

import json

import pytest

from notifications import selectors
from notifications.accounts import accounts
from notifications.addresses import address_hash
from notifications.lanes import Lane
from notifications.models import InboundMessage, Notification, ProviderAccount, Suppression
from notifications.models.client import EVENTS
from notifications.states import State
from tests import factories
from tests.notifications.old import clean, redact
from tests.notifications.stories import sms, told
from tests.providers.samples.telnyx import SAMPLE, telnyx_webhook

pytestmark = pytest.mark.usefixtures("seeded")

PATH = "/webhooks/telnyx/"


@pytest.fixture
def write(client):
    """Somebody writes to our number at Telnyx."""
    account = SAMPLE.provider.account
    factories.account(
        "telnyx", provider="telnyx", credentials=dict(account.credentials), settings=dict(account.settings)
    )
    accounts.forget()

    def write(text, *, id="in-1", sender=factories.NUMBER, tampered=False):
        body = {
            "data": {
                "event_type": "message.received",
                "id": f"event-{id}",
                "record_type": "event",
                "payload": {
                    "id": id,
                    "direction": "inbound",
                    "text": text,
                    "from": {"phone_number": sender},
                    "to": [{"phone_number": "+15005550006"}],
                    "received_at": "2026-11-30T10:00:00.000+00:00",
                },
            }
        }
        call = telnyx_webhook(json.dumps(body).encode())
        sent = call.body + b" " if tampered else call.body
        return client.post(PATH, sent, content_type="application/json", headers=dict(call.headers)).status_code

    return write


def hashed(number=factories.NUMBER):
    return address_hash("sms", number)


class TestText:
    def test_is_kept_once_however_often_it_comes(self, write):
        assert (write("When do you open?"), write("When do you open?")) == (200, 200)

        row = InboundMessage.objects.get()
        assert (row.account.slug, row.sender, row.text, row.intent) == (
            "telnyx",
            factories.NUMBER,
            "When do you open?",
            "",
        )
        assert not Suppression.objects.exists()

    def test_that_nobody_signed_is_refused(self, write):
        assert write("STOP", tampered=True) == 403

        assert not InboundMessage.objects.exists()
        assert not Suppression.objects.exists()

    def test_loses_who_wrote_what_when_it_is_old_and_goes_when_it_is_older(self, write):
        write("STOP")

        redact(days=31)
        row = InboundMessage.objects.get()
        assert (row.sender, row.text, row.intent) == ("", "", "stop")

        clean(days=91)
        assert not InboundMessage.objects.exists()


class TestStop:
    def test_ends_all_sms_to_its_sender_by_whatever_provider(self, write, world):
        write(" Stop! ")

        message = sms(factories.NUMBER)
        world.drain(Lane.NORMAL)

        assert told(message) == (State.SUPPRESSED, "opted_out")
        row = Suppression.objects.get()
        assert (row.channel, row.reason, row.source) == ("sms", "opted_out", "telnyx")
        assert world.on_the_wire() == 0

    def test_is_taken_back_by_a_start(self, write):
        write("STOP")
        write("START", id="in-2")

        assert not Suppression.objects.exists()

    def test_a_start_makes_no_dead_number_live(self, write):
        Suppression.objects.create(channel="sms", address_hash=hashed(), reason="invalid")

        write("START")

        assert Suppression.objects.get().reason == "invalid"

    def test_that_is_repeated_does_not_undo_a_start(self, write):
        write("STOP")
        write("START", id="in-2")
        write("STOP")  # the same text, delivered once more

        assert not Suppression.objects.exists()

    @pytest.mark.parametrize("sender", ["Shop", "12345"])
    def test_from_no_number_is_kept_and_stops_nobody(self, write, sender):
        write("STOP", sender=sender)

        assert InboundMessage.objects.get().intent == "stop"
        assert not Suppression.objects.exists()


class TestWhoHears:
    """Texts are personal: the client that an account names hears of them, at endpoints that ask for just that."""

    @pytest.fixture
    def heard_by(self, write):
        def set_client(name):
            ProviderAccount.objects.filter(slug="telnyx").update(
                settings={**SAMPLE.provider.account.settings, "inbound_client": name}
            )
            accounts.forget()
            selectors.endpoints.forget()

        factories.endpoint("by-name", "https://a.example.org/", of="shop", event_types=["sms.received"])
        factories.endpoint("everything", "https://b.example.org/", of="shop")
        factories.endpoint("another", "https://c.example.org/", of="other", event_types=["sms.received"])
        return set_client

    def told(self):
        events = Notification.objects.filter(client__name=EVENTS)
        return {event.recipient["webhook"]: json.loads(event.content["webhook"]["text"]) for event in events}

    def test_whoever_the_account_names_and_asks_for_it_by_name(self, write, heard_by):
        heard_by("shop")

        write("Yes please")
        write("Yes please")

        text = InboundMessage.objects.get()
        (name,) = self.told()
        said = self.told()[name]
        assert (name, said["type"]) == ("by-name", "sms.received")
        assert said["data"] == {
            "id": str(text.id),
            "from": factories.NUMBER,
            "to": "+15005550006",
            "text": "Yes please",
            "intent": "",
            "received_at": text.received_at.isoformat(),
        }

    def test_what_was_asked_for_is_said_and_done(self, write, heard_by):
        heard_by("shop")

        write("STOP")

        assert self.told()["by-name"]["data"]["intent"] == "stop"
        assert Suppression.objects.exists()

    @pytest.mark.parametrize("name", ["", "nobody"])
    def test_else_nobody(self, write, heard_by, name):
        heard_by(name)

        assert write("Yes please") == 200

        assert (self.told(), InboundMessage.objects.count()) == ({}, 1)
