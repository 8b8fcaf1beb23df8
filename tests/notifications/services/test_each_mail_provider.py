"""E-mail providers with an API: the stories of a mail, by the engine against the vendor that the sandbox plays."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from notifications.accounts import accounts, webhook_url
from notifications.lanes import Lane
from notifications.models import DeliveryEvent, ProviderAccount, Suppression
from notifications.states import End, State
from providers.messages import Ability, Channel
from providers.registry import PROVIDERS
from providers.sandbox import SandboxAccount
from providers.sandbox.amazon import certificate
from tests.factories import make_due
from tests.notifications.conftest import PACE
from tests.notifications.stories import attempts, email, end_of, told
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import case
from tests.providers.samples.sendgrid import PRIVATE_KEY

SLUG = "vendor"
BY_MAIL = ("courier", "resend", "sendgrid", "ses")
KEYED = [name for name in BY_MAIL if Ability.KEYS in PROVIDERS[name].abilities]
SEARCHED = [
    name for name in BY_MAIL if name not in KEYED and Ability.FIND_BY_REFERENCE in PROVIDERS[name].abilities
]  # at once
SILENT = "courier"  # its reports name no attempt, and it tells of no complaint

# Credentials are those of the samples; what proves reports is beside them on one side only.
OURS = {"ses": {"signing_certificate": certificate().decode()}}
THEIRS = {"sendgrid": {"webhook_private_key": PRIVATE_KEY}}


@pytest.fixture(params=BY_MAIL)
def name(request):
    return request.param


@pytest.fixture
def more_vendors(name, live_server, settings):
    settings.PUBLIC_URL = live_server.url
    credentials = {**SAMPLES[name].provider.account.credentials, **THEIRS.get(name, {})}
    return [SandboxAccount(SLUG, name, credentials, webhook_url(ProviderAccount(slug=SLUG, provider=name)))]


@pytest.fixture(autouse=True)
def account(world, name):
    """The only account that sends e-mail."""
    ProviderAccount.objects.filter(slug="postmark").delete()
    known = SAMPLES[name].provider.account
    credentials = {**known.credentials, **OURS.get(name, {})}
    return world.account(
        SLUG, provider=name, channels=["email"], credentials=credentials, settings=dict(known.settings)
    )


def go_on(world, message):
    """Let the next action of a message be due, and do it."""
    make_due(message)
    world.drain(Lane.NORMAL, Lane.UPKEEP)
    return told(message)


def calls(world):
    """How many calls that send the vendor had, and how many mails it made of them."""
    return world.requests(SLUG), world.on_the_wire(SLUG)


def suppressed():
    return list(Suppression.objects.values_list("reason", flat=True))


def test_only_mail_is_sent_here(name):
    assert Channel.EMAIL in PROVIDERS[name].channels


class TestDelivered:
    def test_once_and_is_proven_by_its_own_signature(self, world, name):
        world.listen()
        message = email("delivered@example.org")
        world.drain(Lane.NORMAL)
        assert told(message) == (State.SENT, "")

        world.hear()

        ((_, taken),) = world.sandbox.messages()
        attempt = message.attempts.get()
        assert (told(message), end_of(message)) == ((State.DELIVERED, ""), End.DELIVERED)
        assert (attempt.outcome, attempt.provider_message_id) == ("taken", taken.id)
        assert message.delivery_events.get(kind="delivered").source == "webhook"
        assert (calls(world), suppressed()) == ((1, 1), [])


@pytest.mark.parametrize("name", [name for name in BY_MAIL if name != SILENT])
class TestRefusedAddress:
    def test_fails_at_once(self, world):
        message = email("invalid@example.org")

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "recipient_refused")
        assert (calls(world), suppressed()) == ((1, 0), [])


@pytest.mark.parametrize("name", [SILENT])
class TestUnroutableAddress:
    def test_is_taken_and_told_to_have_failed(self, world):
        world.listen()
        message = email("invalid@example.org")
        world.drain(Lane.NORMAL)

        world.hear()

        assert told(message) == (State.FAILED, "not_delivered")
        assert (calls(world), suppressed()) == ((1, 1), [])


class TestBounce:
    def test_hard_fails_for_good_and_suppresses(self, world, name):
        world.listen()
        message = email("bounce@example.org")
        world.drain(Lane.NORMAL)

        world.hear()

        assert (told(message), suppressed()) == ((State.FAILED, "bounced"), ["hard_bounce"])

    def test_soft_is_tried_once_more_and_suppresses_nothing(self, world, name):
        world.listen()
        message = email("softbounce@example.org")
        world.drain(Lane.NORMAL)
        world.hear()
        assert told(message)[0] == State.QUEUED

        go_on(world, message)
        world.hear()

        assert told(message)[0] == State.FAILED
        assert (calls(world), suppressed()) == ((2, 2), [])

    @pytest.mark.parametrize("name", [name for name in BY_MAIL if name != SILENT])
    def test_complaint_leaves_it_delivered_and_suppresses(self, world):
        world.listen()
        message = email("complaint@example.org")
        world.drain(Lane.NORMAL)

        world.hear()

        assert (told(message), suppressed()) == ((State.DELIVERED, ""), ["complaint"])

    @pytest.mark.parametrize("name", ["sendgrid", "ses"])
    def test_of_an_address_on_the_vendors_own_list_is_no_delivery(self, world, name):
        world.listen()
        for _ in range(2):
            Suppression.objects.all().delete()
            message = email("bounce@example.org")
            world.drain(Lane.NORMAL)
            world.hear()

        assert told(message) == (State.FAILED, "not_delivered")
        assert suppressed() == ["hard_bounce" if name == "sendgrid" else "inactive"]


class TestAnswerLost:
    @pytest.fixture
    def lost(self, world):
        """A mail that the vendor took without an answer."""
        world.sandbox.set_faults(SLUG, accept_then_drop=True)
        message = email("delivered@example.org", on_unclear="hold")
        world.drain(Lane.NORMAL)
        assert (told(message), calls(world)) == ((State.UNCERTAIN, "outcome_unknown"), (1, 1))
        world.sandbox.set_faults(SLUG, accept_then_drop=None)
        return message

    @pytest.mark.parametrize("name", SEARCHED)
    def test_is_found(self, world, lost):
        world.hear()

        assert go_on(world, lost) == (State.DELIVERED, "")

        ((_, taken),) = world.sandbox.messages()
        attempt = lost.attempts.get()
        assert (attempt.looked_up, attempt.provider_message_id) == ("found", taken.id)
        assert calls(world) == (1, 1)

    @pytest.mark.parametrize("name", SEARCHED)
    def test_is_sent_again_only_after_two_clear_noes(self, world, lost):
        world.sandbox.set_faults(SLUG, look_up_blind=True)

        assert go_on(world, lost)[0] == State.UNCERTAIN
        assert go_on(world, lost) == (State.QUEUED, "not_there")

        assert calls(world) == (1, 1)

    @pytest.mark.parametrize("name", SEARCHED)
    def test_is_not_found_in_another_mail_with_the_same_words(self, world, lost):
        twin = email("delivered@example.org")
        world.drain(Lane.NORMAL)
        assert told(twin) == (State.SENT, "")

        assert go_on(world, lost)[0] in (State.SENT, State.DELIVERED)

        found = {row.attempts.get().provider_message_id for row in (lost, twin)}
        assert found == {taken.id for _, taken in world.sandbox.messages()}
        assert (len(found), calls(world)) == (2, (2, 2))

    @pytest.mark.parametrize("name", KEYED)
    def test_is_settled_by_the_same_call_again(self, world, lost):
        assert go_on(world, lost) == (State.QUEUED, "same_key")
        assert go_on(world, lost) == (State.SENT, "")

        ((_, taken),) = world.sandbox.messages()
        assert attempts(lost) == [(1, SLUG, "unclear"), (2, SLUG, "taken")]
        assert lost.attempts.get(number=2).provider_message_id == taken.id
        assert calls(world) == (2, 1)

    @pytest.mark.parametrize("name", [name for name in BY_MAIL if name not in {*KEYED, *SEARCHED}])
    def test_is_held_where_nobody_can_be_asked(self, world, lost):
        assert go_on(world, lost) == (State.UNCERTAIN, "held")
        assert calls(world) == (1, 1)

    @pytest.mark.parametrize("name", [name for name in BY_MAIL if name != SILENT])
    @pytest.mark.parametrize("pace", [replace(PACE, unanswered_after=0.5)], ids=["reported later"])
    def test_is_settled_by_a_report(self, world, lost):
        world.listen()

        world.hear()

        assert told(lost) == (State.DELIVERED, "")
        assert attempts(lost) == [(1, SLUG, "unclear")]
        assert calls(world) == (1, 1)


@pytest.mark.parametrize("name", [SILENT])
class TestReportThatNamesNoAttempt:
    def test_counts_once_the_answer_is_known(self, world):
        world.listen()
        world.sandbox.set_faults(SLUG, accept_then_drop=True)
        message = email("delivered@example.org")
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults(SLUG, accept_then_drop=None)
        world.hear()
        assert told(message) == (State.UNCERTAIN, "outcome_unknown")

        go_on(world, message)
        go_on(world, message)

        world.hear()
        assert told(message) == (State.DELIVERED, "")
        assert calls(world) == (2, 1)


@pytest.mark.parametrize("name", ["courier"])
class TestKeptFailure:
    """A 5xx that is answered again for as long as the key lives: repeating it would tell nothing new."""

    FAILURE = {"status": 500, "code": 0}

    def test_has_the_vendor_searched_and_only_then_another_key_used(self, world):
        world.sandbox.set_faults(SLUG, refuse=self.FAILURE)
        message = email("delivered@example.org", on_unclear="hold")
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults(SLUG, refuse=None)
        assert told(message) == (State.UNCERTAIN, "outcome_unknown")

        assert go_on(world, message)[0] == State.UNCERTAIN
        assert go_on(world, message) == (State.QUEUED, "not_there")
        assert go_on(world, message) == (State.SENT, "")

        keys = list(message.attempts.order_by("number").values_list("provider_key", flat=True))
        assert keys == [f"{message.id.hex}-1", f"{message.id.hex}-2"]
        assert (calls(world), world.requests(SLUG, "find")) == ((2, 1), 2)

    def test_of_a_repeat_does_not_hide_what_the_first_call_brought(self, world):
        world.sandbox.set_faults(SLUG, accept_then_drop=True)
        message = email("delivered@example.org", on_unclear="hold")
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults(SLUG, accept_then_drop=None, refuse=self.FAILURE)
        assert go_on(world, message) == (State.QUEUED, "same_key")
        assert go_on(world, message) == (State.UNCERTAIN, "outcome_unknown")

        assert go_on(world, message)[0] in (State.SENT, State.DELIVERED)

        ((_, taken),) = world.sandbox.messages()
        assert message.attempts.get(number=2).provider_message_id == taken.id
        assert calls(world) == (2, 1)


@pytest.mark.parametrize("name", ["infrai_email"])
class TestAskedOnly:
    """One that reports nothing, and says of a refused address no more than that it refuses."""

    def test_delivered_is_proven_by_a_poll(self, world):
        message = email("delivered@example.org")
        world.drain(Lane.NORMAL)
        assert told(message) == (State.SENT, "")
        world.hear()

        assert go_on(world, message) == (State.DELIVERED, "")

        assert message.delivery_events.get(kind="delivered").source == "poll"
        assert calls(world) == (1, 1)

    def test_bounced_fails_and_suppresses_nothing(self, world):
        message = email("bounce@example.org")
        world.drain(Lane.NORMAL)
        world.hear()

        assert go_on(world, message) == (State.FAILED, "bounced")

        assert suppressed() == []

    def test_refused_address_fails(self, world):
        message = email("invalid@example.org")

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "route_rejected")
        assert (calls(world), suppressed()) == ((1, 0), [])

    def test_lost_answer_is_settled_by_the_same_call_again(self, world):
        world.sandbox.set_faults(SLUG, accept_then_drop=True)
        message = email("delivered@example.org")
        world.drain(Lane.NORMAL)
        world.sandbox.set_faults(SLUG, accept_then_drop=None)

        assert go_on(world, message) == (State.QUEUED, "same_key")
        assert go_on(world, message) == (State.SENT, "")

        assert calls(world) == (2, 1)


class TestForged:
    def test_is_not_believed(self, world, name, client):
        message = email("silent@example.org")
        world.drain(Lane.NORMAL)
        attempt = f"{message.id.hex}-1"
        body = f'[{{"event": "bounce", "type": "bounce", "status": "5.1.1", "landfall_attempt": "{attempt}"}}]'

        answer = client.post(f"/webhooks/{SLUG}/", body, content_type="application/json")

        assert answer.status_code == PROVIDERS[name].refused_webhook_status
        assert message.delivery_events.count() == 0


@pytest.mark.parametrize("name", ["sendgrid"])
class TestRawBytes:
    """The case sig-sendgrid-crlf-between-events: nothing between the socket and the adapter may touch a body."""

    def test_pass_the_whole_stack_as_they_came(self, account, client):
        vector = json.loads(case("sig-sendgrid-crlf-between-events/vectors.json"))
        body = case("sig-sendgrid-crlf-between-events/body.bin")
        account.credentials = {**account.credentials, "webhook_public_key": vector["public_key"]}
        account.save(update_fields=["credentials"])
        accounts.forget()

        answers = [
            client.post(f"/webhooks/{SLUG}/", sent, content_type="application/json", headers=vector["headers"])
            for sent in (body.rstrip(), body)
        ]

        assert [answer.status_code for answer in answers] == [403, 200]
        assert set(DeliveryEvent.objects.values_list("dedupe_key", flat=True)) == {"RVYx", "RVYy"}
