"""Every SMS provider: the stories of a message, by the engine against the vendor that the sandbox plays."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from django.utils import timezone

from notifications.accounts import accounts, webhook_url
from notifications.lanes import Lane
from notifications.models import Message, OutboxEntry, ProviderAccount
from notifications.states import End, State
from providers.messages import Ability, Channel
from providers.registry import PROVIDERS
from providers.sandbox import SandboxAccount
from providers.sandbox.amazon import certificate
from providers.transport.base import Call
from providers.transport.inbox import send_many
from tests.factories import SECOND, make_due
from tests.notifications.conftest import PACE
from tests.notifications.stories import attempts, end_of, fallback_of, sms, sms_then_email, told
from tests.providers.samples import SAMPLES
from tests.providers.samples.telnyx import TELNYX_SEED

SLUG = "vendor"
UNDELIVERABLE, INVALID, BUSY_TWICE, DROPPED = (f"+49151123456{role}" for role in ("03", "04", "05", "09"))
SEARCH = {Ability.FIND_BY_REFERENCE, Ability.FIND_BY_RECIPIENT}

BY_SMS = {name: provider for name, provider in sorted(PROVIDERS.items()) if Channel.SMS in provider.channels}
KEYED = [name for name, provider in BY_SMS.items() if Ability.KEYS in provider.abilities]
SEARCHED = [name for name, provider in BY_SMS.items() if name not in KEYED and SEARCH & provider.abilities]
REPORTING = [name for name, provider in BY_SMS.items() if Ability.RECEIPTS in provider.abilities]
LISTED = [name for name, provider in BY_SMS.items() if Ability.LIST_STATUSES in provider.abilities]
BELIEVED = [name for name in REPORTING if BY_SMS[name].signs_webhooks]

# Credentials are those of the samples; what proves reports is beside them on one side only.
OURS = {"aws_sms": {"signing_certificate": certificate().decode()}}
THEIRS = {"telnyx": {"webhook_private_key": base64.b64encode(TELNYX_SEED).decode()}}
REPORTING_BY_ACCOUNT = {"aws_sms", "bird", "mysmsgate"}  # the others are told an address with each message
VAGUE = {"infrai", "mysmsgate"}  # their no to a number may as well be to something of theirs


@pytest.fixture(params=BY_SMS)
def name(request):
    return request.param


@pytest.fixture
def more_vendors(name, live_server, settings):
    settings.PUBLIC_URL = live_server.url
    credentials = {**SAMPLES[name].provider.account.credentials, **THEIRS.get(name, {})}
    row = ProviderAccount(slug=SLUG, provider=name)
    return [SandboxAccount(SLUG, name, credentials, webhook_url(row) if name in REPORTING_BY_ACCOUNT else None)]


@pytest.fixture(autouse=True)
def account(world, name):
    """The only account that sends SMS."""
    ProviderAccount.objects.filter(slug="twilio").delete()
    known = SAMPLES[name].provider.account
    credentials = {**known.credentials, **OURS.get(name, {})}
    return world.account(SLUG, provider=name, credentials=credentials, settings=dict(known.settings))


def go_on(world, message):
    """Let the next action of a message be due, and do it."""
    make_due(message)
    world.drain(Lane.NORMAL, Lane.UPKEEP)
    return told(message)


def learn(world, name, message):
    """Hear from the vendor what became of a message, or ask where its reports prove nothing."""
    world.hear()
    return told(message) if name in BELIEVED else go_on(world, message)


def calls(world):
    """How many calls that send the vendor had, and how many messages it made of them."""
    return world.requests(SLUG), world.on_the_wire(SLUG)


class TestDelivered:
    def test_once_and_is_proven(self, world, name):
        world.listen()
        message = sms()
        world.drain(Lane.NORMAL)
        assert told(message) == (State.SENT, "")

        assert learn(world, name, message) == (State.DELIVERED, "")

        ((_, taken),) = world.sandbox.messages()
        attempt = message.attempts.get()
        assert (attempt.outcome, attempt.provider_message_id) == ("taken", taken.id)
        assert message.delivery_events.get(kind="delivered").source == ("webhook" if name in BELIEVED else "poll")
        assert (end_of(message), calls(world)) == (End.DELIVERED, (1, 1))


@pytest.mark.parametrize("name", [name for name in REPORTING if name not in BELIEVED])
class TestUnsignedReport:
    @pytest.fixture
    def pace(self):
        """A vendor that reports when the call is long on file."""
        return replace(PACE, sent_after=0.5, delivered_after=0.5)

    def test_proves_nothing_and_has_the_vendor_asked_at_once(self, world):
        world.listen()
        message = sms()
        world.drain(Lane.NORMAL)
        world.hear()
        assert (told(message)[0], world.requests(SLUG, "status")) == (State.SENT, 0)

        world.drain(Lane.UPKEEP)

        assert (told(message), calls(world)) == ((State.DELIVERED, ""), (1, 1))


class TestRefusedNumber:
    def test_gives_way_to_the_next_step_at_once(self, world, name):
        message = sms_then_email(INVALID)

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "route_rejected" if name in VAGUE else "recipient_refused")
        assert fallback_of(message).state == State.SENT
        assert (calls(world), world.on_the_wire("postmark")) == ((1, 0), 1)

    def test_is_tried_by_another_account_once_where_the_refusal_may_be_this_vendors_own(self, world, name):
        world.account("twilio-spare")
        message = sms(INVALID)

        world.drain(Lane.NORMAL)

        asked = [SLUG, "twilio-spare"] if name in VAGUE else [SLUG]
        assert attempts(message) == [(number, slug, "refused") for number, slug in enumerate(asked, 1)]
        assert (told(message), end_of(message)) == ((State.FAILED, "recipient_refused"), End.FAILED)
        assert world.on_the_wire() == 0


class TestUndeliverable:
    def test_gives_way_to_the_next_step(self, world, name):
        world.listen()
        message = sms_then_email(UNDELIVERABLE)
        world.drain(Lane.NORMAL)

        assert learn(world, name, message) == (State.FAILED, "not_delivered")
        world.drain(Lane.NORMAL)
        world.hear()

        assert (told(fallback_of(message)), end_of(message)) == ((State.DELIVERED, ""), End.DELIVERED)
        assert (calls(world), world.on_the_wire("postmark")) == ((1, 1), 1)


@pytest.mark.parametrize("name", LISTED)
class TestStatusList:
    @pytest.fixture
    def messages(self, world):
        """A dozen delivered messages that nobody reported, and the list asked about them."""
        for person in range(12):
            sms(f"+49151{person:06}01")
        world.drain(Lane.NORMAL)
        world.hear()
        OutboxEntry.objects.update(due_at=timezone.now() - SECOND)
        world.deliver(world.claim(Lane.UPKEEP))
        return list(Message.objects.all())

    def test_tells_of_many_with_one_call(self, world, messages):
        assert {told(message) for message in messages} == {(State.DELIVERED, "")}
        assert (world.requests(SLUG, "find"), world.requests(SLUG, "status")) == (1, 0)

    def test_tells_what_single_answers_tell(self, world, messages):
        provider = accounts.get(messages[0].account_id).provider
        for message in messages:
            request = provider.status_request(message.attempts.get().provider_message_id)
            [[answer]] = send_many(world.runtime.transport, [Call(message, request, deadline_seconds=5)])
            singly = [event.dedupe_key for event in provider.status_result(answer.result)]

            assert singly == list(message.delivery_events.values_list("dedupe_key", flat=True))


class TestAnswerLost:
    @pytest.fixture
    def lost(self, world):
        """Sends what the vendor takes without an answer."""

        def send():
            message = sms(DROPPED, on_unclear="hold")
            world.drain(Lane.NORMAL)
            assert (told(message), calls(world)) == ((State.UNCERTAIN, "outcome_unknown"), (1, 1))
            return message

        return send

    @pytest.mark.parametrize("name", KEYED)
    def test_is_sent_again_under_the_same_key(self, world, lost):
        message = lost()

        assert go_on(world, message) == (State.QUEUED, "same_key")
        assert go_on(world, message) == (State.SENT, "")
        world.hear()
        assert go_on(world, message) == (State.DELIVERED, "")

        assert attempts(message) == [(1, SLUG, "unclear"), (2, SLUG, "taken")]
        assert len(set(message.attempts.values_list("provider_key", "request_hash"))) == 1
        assert calls(world) == (2, 1)

    @pytest.mark.parametrize("name", SEARCHED)
    def test_is_found(self, world, lost):
        message = lost()
        world.hear()

        assert go_on(world, message)[0] in (State.SENT, State.DELIVERED)  # not every search tells how far it came
        assert go_on(world, message) == (State.DELIVERED, "")

        ((_, taken),) = world.sandbox.messages()
        attempt = message.attempts.get()
        assert (attempt.looked_up, attempt.provider_message_id) == ("found", taken.id)
        assert calls(world) == (1, 1)

    @pytest.mark.parametrize("name", SEARCHED)
    def test_is_not_found_in_another_message_with_the_same_words(self, world, lost):
        earlier = lost()
        go_on(world, earlier)
        message = sms(DROPPED, on_unclear="hold")
        world.drain(Lane.NORMAL)
        assert told(message) == (State.UNCERTAIN, "outcome_unknown")

        assert go_on(world, message)[0] in (State.SENT, State.DELIVERED)

        found = {row.attempts.get().provider_message_id for row in (earlier, message)}
        assert found == {taken.id for _, taken in world.sandbox.messages()}
        assert (len(found), calls(world)) == (2, (2, 2))

    @pytest.mark.parametrize("name", [name for name in BY_SMS if name not in {*KEYED, *SEARCHED}])
    def test_is_held_where_nobody_can_be_asked(self, world, lost):
        message = lost()

        assert go_on(world, message) == (State.UNCERTAIN, "held")
        assert go_on(world, message) == (State.UNCERTAIN, "held")

        assert calls(world) == (1, 1)

    @pytest.mark.parametrize("name", BELIEVED)
    def test_is_settled_by_a_receipt(self, world, lost):
        world.listen()
        message = lost()

        world.hear()

        assert told(message) == (State.DELIVERED, "")
        assert attempts(message) == [(1, SLUG, "unclear")]
        assert (go_on(world, message), calls(world)) == ((State.DELIVERED, ""), (1, 1))


class TestBusy:
    def test_costs_no_try_and_is_delivered_later(self, world, name):
        world.listen()
        message = sms(BUSY_TWICE)

        for tries in (0, 0, 1):
            make_due(message)
            world.drain(Lane.NORMAL)
            message.refresh_from_db()
            assert message.tries == tries

        assert learn(world, name, message) == (State.DELIVERED, "")
        assert [outcome for _, _, outcome in attempts(message)] == ["not_sent", "not_sent", "taken"]
        assert calls(world) == (3, 1)
