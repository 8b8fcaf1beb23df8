"""Mail servers, and vendors behind Anymail: the stories of a mail, by the engine against what the sandbox plays."""

from __future__ import annotations

import base64
from urllib.parse import urlsplit, urlunsplit

import pytest

from notifications.accounts import webhook_url
from notifications.lanes import Lane
from notifications.models import ProviderAccount, Suppression
from notifications.states import End, State
from providers.sandbox import SandboxAccount
from tests.factories import make_due
from tests.notifications.stories import attempts, email, end_of, sms, told
from tests.providers.samples import anymail
from tests.providers.samples.smtp import PASSWORD

SLUG = "vendor"
SIGNED_IN = {"username": "relay-user", "password": PASSWORD}


def go_on(world, message):
    """Let the next action of a message be due, and do it."""
    make_due(message)
    world.drain(Lane.NORMAL, Lane.UPKEEP)
    return told(message)


def calls(world):
    """How many mails the vendor was asked to take, and how many it took."""
    return world.requests(SLUG), world.on_the_wire(SLUG)


class TestMailServer:
    @pytest.fixture
    def more_vendors(self):
        return [SandboxAccount(SLUG, "smtp", SIGNED_IN)]

    @pytest.fixture(autouse=True)
    def account(self, world):
        """The only account that sends e-mail."""
        ProviderAccount.objects.filter(slug="postmark").delete()
        settings = {"from": "Landfall <landfall@example.org>", "security": "none"}
        return world.account(SLUG, provider="smtp", channels=["email"], credentials=SIGNED_IN, settings=settings)

    def test_takes_a_mail_and_nothing_proves_that_it_arrived(self, world):
        message = email("delivered@example.org")

        world.drain(Lane.NORMAL)

        ((_, taken),) = world.sandbox.messages()
        attempt = message.attempts.get()
        assert (told(message), end_of(message)) == ((State.UNCONFIRMED, "nothing_proves_it"), End.UNCONFIRMED)
        assert (attempt.outcome, attempt.provider_message_id, attempt.http_status) == ("taken", taken.id, 250)
        assert (taken.attempt, taken.to) == (f"{message.id.hex}-1", "delivered@example.org")
        assert calls(world) == (1, 1)

    def test_goes_beside_calls_in_one_batch(self, world):
        mail, text = email("delivered@example.org"), sms()

        world.drain(Lane.NORMAL)

        assert (told(mail)[0], told(text)[0]) == (State.UNCONFIRMED, State.SENT)
        assert (world.on_the_wire(SLUG), world.on_the_wire("twilio")) == (1, 1)

    def test_refuses_an_address_and_it_is_not_used_again(self, world):
        message = email("invalid@example.org")

        world.drain(Lane.NORMAL)

        attempt = message.attempts.get()
        assert told(message) == (State.FAILED, "recipient_refused")
        assert (attempt.error, attempt.error_code, attempt.http_status) == ("InvalidRecipient", "5.1.1", 550)
        assert "No such user" in attempt.answer
        assert Suppression.objects.get().reason == "hard_bounce"
        assert calls(world) == (1, 0)

    @pytest.mark.parametrize("fault", ["drop", "withhold"])
    def test_that_says_nothing_at_the_end_is_held(self, world, fault, numbers_are):
        numbers_are(send_deadline_seconds=0.3)
        to = "timeout@example.org" if fault == "withhold" else "delivered@example.org"
        world.sandbox.set_faults(SLUG, accept_then_drop=fault == "drop" or None)
        message = email(to, on_unclear="hold")

        world.drain(Lane.NORMAL)

        assert (told(message), calls(world)) == ((State.UNCERTAIN, "outcome_unknown"), (1, 1))
        assert go_on(world, message) == (State.UNCERTAIN, "held")
        assert attempts(message) == [(1, SLUG, "unclear")]
        assert calls(world) == (1, 1)

    def test_that_says_later_is_asked_again(self, world):
        world.sandbox.set_faults(SLUG, rate_limit=1)
        message = email("delivered@example.org")
        world.drain(Lane.NORMAL)
        assert told(message)[0] == State.QUEUED

        world.sandbox.set_faults(SLUG, rate_limit=None)

        assert go_on(world, message)[0] == State.UNCONFIRMED
        assert [outcome for _, _, outcome in attempts(message)] == ["not_sent", "taken"]

    def test_that_does_not_know_us_is_an_accounts_fault(self, world, account):
        account.credentials = {**SIGNED_IN, "password": "wrong"}
        account.save(update_fields=["credentials"])
        message = email("delivered@example.org")

        world.drain(Lane.NORMAL)

        account.refresh_from_db()
        attempt = message.attempts.get()
        assert (attempt.error, attempt.error_code) == ("AuthenticationFailed", "5.7.8")
        assert account.opened_at is not None
        assert world.on_the_wire(SLUG) == 0

    def test_that_is_not_there_was_sent_nothing(self, world, account):
        account.base_url = "smtp://127.0.0.1:9"
        account.save(update_fields=["base_url"])
        message = email("delivered@example.org")

        world.drain(Lane.NORMAL)

        assert told(message)[0] == State.QUEUED
        assert attempts(message) == [(1, SLUG, "not_sent")]


@pytest.mark.parametrize("esp", ["mailgun", "brevo"])
class TestVendorBehindAnymail:
    @pytest.fixture
    def more_vendors(self, esp, live_server, settings):
        settings.PUBLIC_URL = live_server.url
        scheme, host, path, *_ = urlsplit(webhook_url(ProviderAccount(slug=SLUG, provider="anymail")))
        user, password = anymail.BASIC.values()
        known = f"{user}:{password}@" if esp == "brevo" else ""
        return [
            SandboxAccount(
                SLUG, "anymail", anymail.CREDENTIALS[esp], urlunsplit((scheme, f"{known}{host}", path, "", ""))
            )
        ]

    @pytest.fixture(autouse=True)
    def account(self, world, esp):
        """The only account that sends e-mail."""
        ProviderAccount.objects.filter(slug="postmark").delete()
        settings = {"from": "Landfall <landfall@example.org>", "esp": esp}
        credentials = dict(anymail.CREDENTIALS[esp])
        return world.account(SLUG, provider="anymail", channels=["email"], credentials=credentials, settings=settings)

    def test_delivers_and_proves_it(self, world):
        world.listen()
        message = email("delivered@example.org")
        world.drain(Lane.NORMAL)
        assert told(message) == (State.SENT, "")

        world.hear()

        ((_, taken),) = world.sandbox.messages()
        assert (told(message), end_of(message)) == ((State.DELIVERED, ""), End.DELIVERED)
        assert message.attempts.get().provider_message_id == taken.id
        assert message.delivery_events.get(kind="delivered").source == "webhook"
        assert calls(world) == (1, 1)

    def test_bounces_hard_and_suppresses(self, world):
        world.listen()
        message = email("bounce@example.org")
        world.drain(Lane.NORMAL)

        world.hear()

        assert told(message) == (State.FAILED, "bounced")
        assert Suppression.objects.get().reason == "hard_bounce"

    def test_bounces_softly_and_suppresses_nothing(self, world):
        world.listen()
        message = email("softbounce@example.org")
        world.drain(Lane.NORMAL)
        world.hear()
        assert told(message)[0] == State.QUEUED

        go_on(world, message)
        world.hear()

        assert told(message) == (State.FAILED, "not_reached")
        assert (calls(world), Suppression.objects.count()) == ((2, 2), 0)

    def test_complaint_leaves_it_delivered_and_suppresses(self, world):
        world.listen()
        message = email("complaint@example.org")
        world.drain(Lane.NORMAL)

        world.hear()

        assert told(message) == (State.DELIVERED, "")
        assert Suppression.objects.get().reason == "complaint"

    def test_refuses_an_address_in_words_that_anything_could_mean(self, world):
        message = email("invalid@example.org")

        world.drain(Lane.NORMAL)

        assert told(message) == (State.FAILED, "route_rejected")
        assert (calls(world), Suppression.objects.count()) == ((1, 0), 0)

    def test_takes_a_mail_without_an_answer(self, world, esp):
        world.sandbox.set_faults(SLUG, accept_then_drop=True)
        message = email("delivered@example.org", on_unclear="hold")
        world.drain(Lane.NORMAL)
        assert (told(message), calls(world)) == ((State.UNCERTAIN, "outcome_unknown"), (1, 1))
        world.sandbox.set_faults(SLUG, accept_then_drop=None)

        if esp == "mailgun":
            assert go_on(world, message) == (State.UNCERTAIN, "held")
        else:
            assert go_on(world, message) == (State.QUEUED, "same_key")
            assert go_on(world, message) == (State.SENT, "")

        assert calls(world) == (1 if esp == "mailgun" else 2, 1)

    def test_is_settled_by_a_report(self, world):
        world.sandbox.set_faults(SLUG, accept_then_drop=True)
        message = email("delivered@example.org", on_unclear="hold")
        world.drain(Lane.NORMAL)
        world.listen()

        world.hear()

        assert told(message) == (State.DELIVERED, "")
        assert calls(world) == (1, 1)

    def test_is_not_believed_without_proof(self, world, client, esp):
        message = email("silent@example.org")
        world.drain(Lane.NORMAL)
        forged = base64.b64encode(b"hook-user:guess").decode()

        answer = client.post(
            f"/webhooks/{SLUG}/",
            f'{{"event": "delivered", "X-Mailin-custom": "{{\\"attempt\\": \\"{message.id.hex}-1\\"}}"}}',
            content_type="application/json",
            headers={"Authorization": f"Basic {forged}"},
        )

        assert answer.status_code == 403
        assert message.delivery_events.count() == 0
