"""Links that unsubscribe: whose they are, and what they come to in the engine."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from notifications import tokens
from notifications.addresses import address_hash, normalise
from notifications.lanes import Lane
from notifications.models import OutboxEntry, Suppression
from notifications.services.unsubscribe import Subscription, link, read, unsubscribe
from notifications.sql.begin import Intent, begin, take_back_unwanted
from notifications.sql.claim import claim
from notifications.states import State
from providers.messages import Channel
from tests import factories
from tests.notifications.stories import email, sms_then_email, told
from tests.providers.samples.base import case

ADDRESSES = json.loads(case("optout-plus-address-in-link/input.json"))["addresses"]
HASHED = address_hash("email", "ana@example.org")


def token_of(url):
    return url.rstrip("/").rpartition("/")[2]


class TestLink:
    @pytest.mark.parametrize("address", ADDRESSES)
    def test_optout_plus_address_in_link_is_of_exactly_that_address(self, address):
        hashed = address_hash("email", normalise(Channel.EMAIL, address))

        url = link("marketing", hashed)

        assert read(token_of(url)) == Subscription("marketing", hashed)
        assert address.partition("@")[0] not in url
        assert len({link("marketing", address_hash("email", other)) for other in ADDRESSES}) == len(ADDRESSES)

    def test_is_the_same_for_ever_and_fits_a_header(self, settings):
        settings.PUBLIC_URL = "https://notify.example.com"

        url = link("marketing", HASHED)

        assert url == link("marketing", HASHED)
        assert url.startswith("https://notify.example.com/unsubscribe/")
        assert len(url) < 200

    def test_is_for_marketing_only(self):
        assert link("transactional", HASHED) is None

    @pytest.mark.parametrize(
        "token",
        [
            "",
            "x",
            "ä",
            "\0",
            "=" * 200,
            tokens.make("unsubscribe", b"transactional:" + bytes(32)),
            tokens.make("unsubscribe", b"\xff:" + bytes(32)),
            tokens.make("unsubscribe", b"marketing:" + bytes(31)),
            tokens.make("unsubscribe", b"marketing"),
            tokens.make("receipt", b"marketing:" + bytes(32)),
        ],
        ids=ascii,
    )
    def test_that_is_none_of_ours_is_nobodys(self, token):
        assert read(token) is None

    def test_with_another_letter_is_nobodys(self):
        token = token_of(link("marketing", HASHED))
        changed = [token[:at] + ("B" if token[at] == "A" else "A") + token[at + 1 :] for at in range(len(token) - 1)]

        assert [read(other) for other in changed] == [None] * len(changed)


@pytest.fixture
def unsubscribed(seeded):
    """An address that wants no more marketing."""
    unsubscribe(Subscription("marketing", address_hash("email", factories.MAILBOX)))


def header_of(world):
    ((_, taken),) = world.sandbox.messages()
    return taken.content.headers.get("List-Unsubscribe")


class TestMail:
    def test_of_marketing_says_where_to_unsubscribe(self, world):
        message = email(category="marketing")

        world.drain(Lane.NORMAL)

        assert header_of(world) == f"<{link('marketing', message.address_hash)}>"
        assert world.sandbox.messages()[0][1].content.headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"

    def test_of_another_kind_does_not(self, world):
        email()

        world.drain(Lane.NORMAL)

        assert header_of(world) is None

    def test_carries_what_its_client_said(self, world):
        file = {"name": "a.txt", "content_type": "text/plain", "content": "QQ==", "content_id": "a"}
        accepted = factories.notification("email", content={"email": {
            "subject": "Invoice", "text": "Enclosed.", "to_name": "Ana, P.", "reply_to": "help@example.org", "attachments": [file],
        }})  # fmt: skip
        factories.message(of=accepted)

        world.drain(Lane.NORMAL)

        ((_, taken),) = world.sandbox.messages()
        assert taken.content.to == (("Ana, P.", factories.MAILBOX),)
        assert taken.content.reply_to == "help@example.org"
        assert taken.content.attachments == (
            {"Name": "a.txt", "Content": "QQ==", "ContentType": "text/plain", "ContentID": "cid:a"},
        )


@pytest.mark.usefixtures("unsubscribed")
class TestWhoUnsubscribed:
    def test_gets_no_more_marketing(self, world):
        message = email(category="marketing")

        world.drain(Lane.NORMAL)

        assert told(message) == (State.SUPPRESSED, "opted_out")
        assert world.on_the_wire() == 0

    def test_gets_everything_else(self, world):
        message = email()

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.SENT
        assert world.on_the_wire() == 1

    def test_gets_sms_as_before(self, world):
        message = sms_then_email(category="marketing")

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.SENT


def claimed(category):
    """A message to an address that is being sent, but whose call has not begun."""
    message = factories.message(of=factories.notification("email", category=category))
    token = uuid4()
    (row,) = claim(Lane.NORMAL, 10, claim=token, lease_seconds=60)
    return message, token, row


def intent(message):
    return Intent(message.id, 1, factories.account("postmark", provider="postmark").id, None, "h" * 64, 60)


@pytest.mark.usefixtures("seeded")
class TestTheLastLook:
    @pytest.mark.parametrize(("category", "may_go"), [("marketing", False), ("transactional", True)])
    def test_sees_who_unsubscribed_since_the_claim(self, category, may_go):
        message, token, row = claimed(category)
        assert row.suppressed is None

        unsubscribe(Subscription("marketing", message.address_hash))

        assert begin([intent(message)], claim=token, call_seconds=1) == ({message.id} if may_go else set())

    @pytest.mark.parametrize(("category", "taken_back"), [("marketing", True), ("transactional", False)])
    def test_takes_back_what_had_begun(self, category, taken_back):
        message, token, _ = claimed(category)
        begin([intent(message)], claim=token, call_seconds=1)

        unsubscribe(Subscription("marketing", message.address_hash))

        assert take_back_unwanted([message.id], claim=token) == ({message.id} if taken_back else set())
        assert OutboxEntry.objects.get(message=message).attempt == (None if taken_back else 1)


@pytest.mark.usefixtures("seeded")
class TestUnsubscribe:
    def test_twice_is_once(self):
        unsubscribe(Subscription("marketing", HASHED))
        unsubscribe(Subscription("marketing", HASHED))

        row = Suppression.objects.get()
        assert (row.channel, row.address_hash, row.reason, row.until) == ("email", HASHED, "unsubscribed", None)
