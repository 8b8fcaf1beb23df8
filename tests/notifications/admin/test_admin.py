"""The operators' room, page by page."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from notifications.models import (
    Arrival,
    Breaker,
    Cause,
    DeadLetter,
    Message,
    Notification,
    OutboxEntry,
    ProviderAccount,
)
from notifications.services.keys import Scope, make_key
from notifications.states import State
from providers.messages import EventKind
from tests import factories
from tests.notifications.old import WORDS, clean, redact, told_all

ADMIN = "/admin/notifications"
LISTS = (
    "apikey", "arrival", "batch", "breaker", "client", "deadletter", "deliveryevent", "heartbeat", "incident", "message", "notification",
    "provideraccount", "route", "suppression", "tally",
)  # fmt: skip
QUERIES = 15  # of a list, at most, however long it is
RECIPIENT = "+4915112345601"


@pytest.fixture
def browser(seeded):
    browser = Browser()
    browser.force_login(get_user_model().objects.create_superuser("boss"))
    return browser


@pytest.fixture
def viewer(seeded):
    user = get_user_model().objects.create_user("viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    browser = Browser()
    browser.force_login(user)
    return browser


def page(browser: Browser, path: str) -> str:
    response = browser.get(f"{ADMIN}/{path}")
    assert response.status_code == 200, path
    return response.content.decode()


def act(browser: Browser, model: str, action: str, *ids: object) -> str:
    response = browser.post(
        f"{ADMIN}/{model}/", {"action": action, "_selected_action": [str(id) for id in ids]}, follow=True
    )
    assert response.status_code == 200
    return response.content.decode()


def dead_letter() -> DeadLetter:
    message = factories.message(State.DEAD_LETTERED)
    return DeadLetter.objects.filter(message=message).first() or DeadLetter.objects.create(
        kind=DeadLetter.Kind.MESSAGE, message=message, reason="no_account"
    )


def held_letter() -> DeadLetter:
    message = factories.message(State.UNCERTAIN, reason="held")
    return DeadLetter.objects.create(kind=DeadLetter.Kind.HELD, message=message, reason="held")


class TestLists:
    @pytest.mark.parametrize("model", LISTS)
    def test_ask_as_much_for_fifty_rows_as_for_one(self, browser, model):
        factories.message(State.SENT)
        page(browser, f"{model}/")
        for state in State:
            for _ in range(5):
                message = factories.message(state)
                factories.event(message, EventKind.SENT)

        with CaptureQueriesContext(connection) as queries:
            page(browser, f"{model}/")

        assert len(queries) <= QUERIES

    @pytest.mark.parametrize("state", list(State))
    def test_show_a_message_in_every_state_without_its_address(self, browser, state):
        message = factories.message(state)

        texts = [
            page(browser, path)
            for path in (
                "message/",
                "notification/",
                f"message/{message.id}/change/",
                f"notification/{message.notification_id}/change/",
            )
        ]

        assert all(message.address not in text for text in texts)


class TestSearch:
    def test_finds_a_notification_by_all_that_operators_have(self, browser):
        wanted = factories.message(State.SENT, of=factories.notification(reference="order 7"))
        factories.message(State.SENT, of=factories.notification(recipient={"sms": "+4915112345602"}))
        attempt = wanted.attempts.get()

        for text in (
            str(wanted.notification_id),
            str(wanted.id),
            f"{wanted.id.hex}-1",
            attempt.provider_message_id,
            "order 7",
        ):
            found = page(browser, f"notification/?q={text}")
            assert str(wanted.notification_id) in found, text
            assert "1 notification" in found, text

    def test_finds_a_recipient_however_the_number_is_written(self, browser):
        message = factories.message(State.SENT)

        found = page(browser, f"message/?q={message.address.replace('+', '%2B')[:6]} {message.address[4:]}")

        assert str(message.id) in found

    def test_finds_nothing_for_what_nothing_has(self, browser):
        factories.message(State.SENT)

        assert "0 notifications" in page(browser, "notification/?q=nothing")


class TestNotificationPage:
    def test_tells_the_story_in_words(self, browser):
        message = factories.message(State.SENT)
        factories.event(message, EventKind.SENT, provider_status="sent")

        text = page(browser, f"notification/{message.notification_id}/change/")

        assert "In progress: the SMS was sent and waits for proof of delivery." in text
        assert f"attempt 1: {message.account} took the SMS" in text
        assert f"{message.account} handed the SMS on (sent), by webhook" in text

    def test_runs_no_script_that_a_provider_answered_with(self, browser):
        message = factories.message(State.SENT)
        message.attempts.update(answer="<script>alert(1)</script>")

        assert "<script>alert(1)" not in page(browser, f"message/{message.id}/change/")

    def test_says_that_an_old_one_is_redacted_and_tells_the_rest(self, browser):
        message = told_all()
        redact()

        for path in (f"notification/{message.notification_id}/change/", f"message/{message.id}/change/"):
            text = page(browser, path)
            assert ">redacted<" in text
            assert WORDS not in text
        assert "redacted: its texts and addresses are gone" in page(
            browser, f"notification/{message.notification_id}/change/"
        )
        assert "1 notification" in page(browser, f"notification/?q={RECIPIENT}".replace("+", "%2B"))


class TestTallies:
    def test_say_how_many_that_are_deleted_ended_how(self, browser):
        told_all()
        told_all()
        clean()

        assert re.search(r"field-end[^>]*>Delivered</t[dh]>\s*<td class=\"field-count\">2<", page(browser, "tally/"))


class TestMessagePage:
    def test_leads_to_its_dead_letters(self, browser):
        letter = held_letter()

        text = page(browser, f"message/{letter.message_id}/change/")

        assert f'href="{ADMIN}/deadletter/{letter.id}/change/' in text
        assert "held: nobody can say whether it went out" in text

    @pytest.mark.parametrize(("looked_up", "answer"), [(None, "attempt 2"), ("not_there", "no")])
    def test_says_whether_it_may_have_arrived_twice(self, browser, looked_up, answer):
        message = factories.message(State.UNCERTAIN, attempt_count=2)
        message.attempts.update(looked_up=looked_up)
        factories.attempt(message, message.account, number=2)

        for path in ("message/", f"message/{message.id}/change/"):
            text = page(browser, path)
            assert re.search(rf"possible_duplicate.*>{answer}<", text, re.DOTALL), path


class TestDeadLetters:
    def test_say_what_they_are_and_what_can_be_done(self, browser):
        letter, failed = held_letter(), dead_letter()

        for path in ("deadletter/", f"deadletter/{letter.id}/change/"):
            text = page(browser, path)
            assert "held: nobody can say whether it went out" in text
            assert "send it again: it may arrive twice; or discard it: it goes on waiting for proof" in text
            assert f'href="{ADMIN}/message/{letter.message_id}/change/' in text
        assert "message: no provider account for this channel can send now" in page(
            browser, f"deadletter/{failed.id}/change/"
        )

    def test_ask_for_nothing_once_they_are_resolved(self, browser):
        letter = held_letter()
        act(browser, "deadletter", "discard_selected", letter.id)

        assert "send it again" not in page(browser, f"deadletter/{letter.id}/change/")

    @pytest.mark.parametrize("kind", DeadLetter.Kind)
    def test_are_listed_by_kind(self, browser, kind):
        held_letter(), dead_letter()
        DeadLetter.objects.create(kind=DeadLetter.Kind.TASK, task="notifications.sweep", reason="task_failed")

        text = page(browser, f"deadletter/?kind__exact={kind}")

        assert "1 dead letter" in text
        assert f"{kind}: " in text

    def test_say_before_and_after_that_a_held_one_may_arrive_twice(self, browser):
        letter = held_letter()
        assert "Send again (a held one may arrive twice)" in page(browser, "deadletter/")

        said = act(browser, "deadletter", "replay_selected", letter.id)

        assert f"{letter.message_id} (held: nobody can say whether it went out): will be sent again, and may" in said
        assert Message.objects.get(id=letter.message_id).state == State.QUEUED

    def test_do_not_say_so_of_what_was_certainly_not_sent(self, browser):
        said = act(browser, "deadletter", "replay_selected", dead_letter().id)

        assert "will be sent again</li>" in said

    def test_discarded_while_held_wait_for_proof(self, browser):
        letter = held_letter()

        said = act(browser, "deadletter", "discard_selected", letter.id)

        assert "discarded, and goes on waiting for proof" in said
        assert Message.objects.get(id=letter.message_id).state == State.UNCERTAIN


class TestActions:
    def test_cancel_what_has_not_been_sent(self, browser):
        message = factories.message(State.QUEUED)

        said = act(browser, "notification", "cancel_selected", message.notification_id)

        assert f"{message.notification_id}: stopped" in said
        assert Notification.objects.get(id=message.notification_id).end == "cancelled"

    def test_retry_what_waits(self, browser):
        message = factories.message(State.QUEUED, due_in=factories.SECOND * 600)

        said = act(browser, "notification", "retry_selected", message.notification_id)

        assert "will be sent at once" in said
        assert OutboxEntry.objects.get(message=message).due_at <= timezone.now()

    def test_leave_alone_what_somebody_works_on(self, browser):
        message = factories.message(State.QUEUED)
        factories.begun(message, factories.account())
        before = OutboxEntry.objects.values().get(message=message)

        said = act(browser, "notification", "retry_selected", message.notification_id)

        assert "somebody is working on it" in said
        assert OutboxEntry.objects.values().get(message=message) == before

    def test_send_a_dead_letter_again(self, browser):
        letter = dead_letter()

        said = act(browser, "deadletter", "replay_selected", letter.id)

        assert "will be sent again" in said
        assert Message.objects.get(id=letter.message_id).state == State.QUEUED
        letter.refresh_from_db()
        assert (letter.resolution, letter.resolved_by) == ("replayed", "boss")

    def test_say_why_a_dead_letter_cannot_be_sent_again(self, browser):
        letter = dead_letter()
        act(browser, "deadletter", "discard_selected", letter.id)

        assert "it was discarded already" in act(browser, "deadletter", "replay_selected", letter.id)

    def test_switch_accounts_off_and_on_and_mend_them(self, browser):
        account = factories.account(opened_at=timezone.now(), opened_until=timezone.now(), opened_reason="x")

        act(browser, "provideraccount", "switch_off", account.id)
        assert not ProviderAccount.objects.get().is_on
        act(browser, "provideraccount", "switch_on", account.id)
        act(browser, "provideraccount", "close_selected", account.id)

        account.refresh_from_db()
        assert account.is_on
        assert account.opened_at is None

    def test_revoke_keys(self, browser):
        client = factories.client()
        make_key(client, [Scope.READ])

        assert "1 revoked" in act(browser, "apikey", "revoke_selected", client.api_keys.get().id)

    @pytest.mark.parametrize(
        ("model", "action"),
        [
            ("notification", "cancel_selected"),
            ("notification", "retry_selected"),
            ("deadletter", "replay_selected"),
            ("deadletter", "discard_selected"),
        ],
    )
    def test_are_not_for_those_who_may_only_look(self, viewer, model, action):
        letter = dead_letter()
        id = letter.id if model == "deadletter" else letter.message.notification_id
        before = list(Message.objects.values())

        act(viewer, model, action, id)

        assert list(Message.objects.values()) == before
        letter.refresh_from_db()
        assert letter.resolved_at is None

    @pytest.mark.parametrize("model", ["notification", "message", "deliveryevent", "deadletter", "apikey"])
    def test_history_cannot_be_added_changed_or_deleted(self, browser, model):
        assert browser.get(f"{ADMIN}/{model}/add/").status_code == 403
        assert "delete_selected" not in page(browser, f"{model}/")


class TestAccountPage:
    def form(self, **changes: object) -> dict[str, object]:
        return {
            "slug": "main",
            "provider": "twilio",
            "channels": "sms",
            "is_on": "on",
            "priority": 1,
            "weight": 1,
            "rate_counts": "messages",
            "rate_burst": 1,
            "credentials": '{"account_sid": "AC1", "auth_token": "very secret"}',
            "settings": '{"from": "+15005550006"}',
            **changes,
        }

    def test_takes_credentials_in_and_never_shows_them(self, browser):
        browser.post(f"{ADMIN}/provideraccount/add/", self.form())
        account = ProviderAccount.objects.get()

        text = page(browser, f"provideraccount/{account.id}/change/")
        browser.post(f"{ADMIN}/provideraccount/{account.id}/change/", self.form(credentials="", priority=2))

        assert "very secret" not in text
        account.refresh_from_db()
        assert account.credentials["auth_token"] == "very secret"
        assert account.priority == 2

    def test_takes_rates(self, browser):
        rates = {"rate": 2.5, "sender_rate": "", "rate_counts": "segments", "rate_burst": 10}

        browser.post(f"{ADMIN}/provideraccount/add/", self.form(**rates))

        account = ProviderAccount.objects.get()
        assert (account.rate, account.sender_rate, account.rate_counts, account.rate_burst) == (
            2.5,
            None,
            "segments",
            10,
        )

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"credentials": '{"account_sid": "AC1"}'}, "Missing for twilio: auth_token"),
            ({"credentials": '["AC1"]'}, "Give a JSON object of strings"),
            ({"credentials": "{"}, "Enter a valid JSON"),
            ({"channels": "email"}, "twilio does not send email"),
            ({"provider": "pigeon"}, "Select a valid choice"),
            ({"base_url": "not a url"}, "Enter a valid URL"),
            ({"rate": 0}, "greater than or equal to 0.001"),
            ({"prices": '{"DE": 0.075}'}, "The price for &quot;DE&quot; is no amount as text"),
        ],
    )
    def test_says_what_is_wrong(self, browser, changes, words):
        response = browser.post(f"{ADMIN}/provideraccount/add/", self.form(**changes))

        assert words in response.content.decode()
        assert not ProviderAccount.objects.exists()


class TestBreakers:
    def rest(self, browser, **fields):
        path = f"{ADMIN}/breaker/add/"
        response = browser.post(path, {"account": factories.account().id, "place": "de", "detail": "fraud", **fields})
        return response.content.decode()

    def test_say_why_an_account_rests_and_how_long(self, browser):
        account = factories.account()
        until = timezone.now()
        Breaker.objects.create(
            account=account, country="DE", cause=Cause.RECEIPTS, detail="3 of 41 arrived", opened_until=until
        )

        text = page(browser, "breaker/") + page(browser, f"breaker/{Breaker.objects.get().id}/change/")

        assert all(word in text for word in ("twilio", "DE", "Receipts", "3 of 41 arrived"))

    def test_are_opened_by_a_person_until_a_person_mends(self, browser):
        self.rest(browser)

        breaker = Breaker.objects.get()
        assert (breaker.country, breaker.cause, breaker.detail) == ("DE", Cause.OPERATOR, "fraud")
        assert "when mended" in page(browser, "breaker/")
        assert "sends to DE again" in act(browser, "breaker", "close_selected", breaker.id)
        assert not Breaker.objects.exists()

    def test_take_the_place_of_what_was_found_before(self, browser):
        account = factories.account()
        Breaker.objects.create(account=account, country="DE", opened_until=timezone.now())

        self.rest(browser)

        assert Breaker.objects.get().cause == Cause.OPERATOR

    def test_need_a_country_that_there_is(self, browser):
        assert "no such countries: XX" in self.rest(browser, place="xx")
        assert not Breaker.objects.exists()

    def test_are_not_opened_by_those_who_may_only_look(self, viewer):
        assert viewer.get(f"{ADMIN}/breaker/").status_code == 200
        self.rest(viewer)

        assert not Breaker.objects.exists()


class TestArrivals:
    def test_are_those_of_the_last_hour_by_account_and_country(self, browser):
        account = factories.account()
        now = timezone.now()
        for country, minutes, taken, delivered in (
            ("DE", 5, 40, 38), ("DE", 50, 60, 57), ("DE", 70, 1000, 0), ("FR", 5, 7, 0),
        ):  # fmt: skip
            Arrival.objects.create(
                account=account, country=country, minute=now - timedelta(minutes=minutes), taken_count=taken,
                delivered_count=delivered,
            )  # fmt: skip

        text = page(browser, "arrival/")

        cells = re.findall(r'<t[dh] class="field-(?:country|taken|delivered|share)[^>]*>([^<]*)<', text)
        assert cells == ["DE", "100", "95", "95 %", "FR", "7", "0", "0 %"]


class TestRoutePage:
    def test_shows_what_steps_look_like(self, browser):
        page = browser.get(f"{ADMIN}/route/add/").content.decode()

        assert "&quot;need&quot;: &quot;all&quot;" in page

    def test_refuses_steps_that_the_engine_cannot_run(self, browser):
        response = browser.post(f"{ADMIN}/route/add/", {"name": "fax", "steps": '[{"channel": "fax"}]'})

        assert "Step 1: `channel` must be one of" in response.content.decode()
