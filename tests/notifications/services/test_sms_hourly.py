"""How many SMS an hour a client may have accepted for a country."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from notifications import selectors
from notifications.accounts import accounts
from notifications.models import Client, Message, Notification, OutboxEntry, SmsCount
from notifications.services import sms_hourly
from notifications.services.accept import OverLimit, Refused, accept, accept_within, send
from notifications.services.dry_run import dry_run
from tests import factories
from tests.notifications.batches import batch_of, guests, refused, row_counts, said
from tests.notifications.racing import counted, rolled_back, together, until_waiting

pytestmark = pytest.mark.usefixtures("seeded")

GERMAN, FRENCH, NOWHERE = factories.NUMBER, "+33612345678", "+80012345678"
SMS = {"sms": {"text": "Table ready"}}
BOTH = {"sms": GERMAN, "email": factories.MAILBOX}
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    monkeypatch.setattr(sms_hourly, "_told", {})


def limits(**hourly):
    """What Django code in this project may have accepted in an hour; `each` is each country not named."""
    written = {"*" if code == "each" else code: limit for code, limit in hourly.items()}
    Client.objects.filter(name="internal").update(sms_hourly=written)
    selectors.clients.forget()


def text(to=GERMAN, **fields):
    return send({"sms": to}, SMS, **fields)


def counts():
    return dict(SmsCount.objects.values_list("country", "count"))


def an_hour_passes():
    SmsCount.objects.update(hour=F("hour") - HOUR)


def over(*args, **fields):
    with pytest.raises(OverLimit) as caught:
        text(*args, **fields)
    return caught.value


class TestLimit:
    def test_is_none_unless_the_client_has_one(self):
        with counted() as statements:
            text()

        assert not any("INTO sms_count" in statement for statement in statements)
        assert counts() == {}

    def test_lets_so_many_pass_in_an_hour_and_refuses_the_next(self):
        limits(DE=2)
        before = timezone.now()

        text(), text()
        error = over()

        next_hour = before.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + HOUR
        assert error.again_at in (next_hour, next_hour + HOUR)
        assert 1 <= error.wait_seconds <= 3600
        assert [(e.field, e.reason) for e in error.errors] == [("to.sms", "more than 2 SMS an hour to DE")]
        assert error.errors[0].accepted == f"at most 0 more; again after {error.again_at.isoformat()}"
        assert Notification.objects.count() == Message.objects.count() == OutboxEntry.objects.count() == 2

    def test_is_whole_again_in_the_next_hour(self):
        limits(DE=1)
        text()
        an_hour_passes()

        text()

        assert sorted(SmsCount.objects.values_list("count", flat=True)) == [1, 1]

    def test_is_each_country_s_own(self):
        limits(DE=1, each=2)

        text(GERMAN), text(FRENCH), text(FRENCH), text("+14155550100"), text(NOWHERE)

        assert counts() == {"DE": 1, "FR": 2, "US": 1, "": 1}
        assert "to DE" in str(over(GERMAN))
        assert "to FR" in str(over(FRENCH))
        text(NOWHERE)
        assert "to numbers of no country" in str(over(NOWHERE))

    def test_is_none_for_a_country_that_nothing_is_said_of(self):
        limits(DE=1)

        text(FRENCH), text(FRENCH)

        assert counts() == {}

    def test_is_each_client_s_own(self):
        Client.objects.create(name="shop", sms_hourly={"DE": 1})
        limits(DE=1)
        text()

        accept({"to": {"sms": GERMAN}, "content": SMS}, client_name="shop", now=timezone.now())

        assert SmsCount.objects.count() == 2

    def test_leaves_the_caller_s_transaction_as_if_nothing_had_been_asked(self, queues):
        limits(DE=1)
        text(), queues()

        with transaction.atomic():
            over()
            mail = send({"email": factories.MAILBOX}, {"email": factories.CONTENT["email"]}, priority="high")

        assert Notification.objects.latest("id").id == mail.id
        assert Notification.objects.count() == 2
        assert queues() == {"normal": 1, "high": 1}

    def test_is_told_once_an_hour_in_the_log(self, caplog):
        limits(DE=1)
        text()

        over(), over()

        [record] = caplog.records
        assert record.levelname == "WARNING"
        assert (record.msg["event"], record.msg["client"]) == ("hourly limit of SMS reached", "internal")
        assert (record.msg["country"], record.msg["limit"]) == ("DE", 1)


class TestCounted:
    def test_is_every_step_that_may_send_an_sms(self):
        limits(each=9)
        factories.Route.objects.create(name="email-then-sms", steps=[{"channel": "email"}, {"channel": "sms"}])

        send(BOTH, factories.CONTENT)  # sms-then-email
        send(BOTH, factories.CONTENT, "email-then-sms")
        send({"email": factories.MAILBOX}, factories.CONTENT, "email-then-sms")
        send(BOTH, factories.CONTENT, "email")

        assert counts() == {"DE": 2}

    def test_is_nothing_for_a_replay_which_no_limit_refuses(self):
        limits(DE=1)
        first = text(idempotency_key="k1")

        again = text(idempotency_key="k1")

        assert (again.id, again.replayed) == (first.id, True)
        assert counts() == {"DE": 1}
        over(idempotency_key="k2")

    def test_is_given_back_when_the_caller_s_transaction_is(self):
        limits(DE=1)

        with rolled_back():
            text()

        assert counts() == {}
        text()

    def test_is_nothing_of_what_was_refused(self):
        limits(DE=1)
        text()
        over()
        limits(DE=2)

        text()

        assert counts() == {"DE": 2}

    def test_is_not_what_a_dry_run_asks_about(self):
        limits(DE=1)
        fields = {"to": {"sms": GERMAN}, "content": SMS}

        def ask():
            return dry_run(fields, client_name="internal", now=timezone.now(), accounts=accounts)

        ask(), ask()
        text()

        with pytest.raises(OverLimit, match="more than 1 SMS an hour to DE"):
            ask()


class TestAtTheEdge:
    def test_one_of_two_at_once_passes(self, aside):
        limits(DE=1)

        def attempt():
            try:
                return text().id
            except OverLimit:
                return None

        ids = together(aside, attempt, attempt)

        assert len([id for id in ids if id]) == 1
        assert Notification.objects.count() == counts()["DE"] == 1

    def test_a_second_one_waits_and_is_refused_when_the_first_commits(self, aside):
        limits(DE=1)

        with transaction.atomic():
            text()
            second = aside(text)
            until_waiting()

        with pytest.raises(OverLimit):
            second.result(5)

    def test_a_second_one_waits_and_passes_when_the_first_is_rolled_back(self, aside):
        limits(DE=1)

        with rolled_back():
            text()
            second = aside(text)
            until_waiting()

        second.result(5)
        assert counts() == {"DE": 1}

    def test_a_caller_who_would_not_wait_so_long_is_told(self, aside):
        limits(DE=1)
        fields = {"to": {"sms": GERMAN}, "content": SMS}

        with transaction.atomic():
            text()
            waiting = aside(accept_within, fields, client_name="internal", now=timezone.now(), lock_seconds=0.02)
            with pytest.raises(Exception, match="lock timeout"):
                waiting.result(5)


class TestBatch:
    FILE = f"to,name\n{GERMAN},Ana\n{FRENCH},Bo\n{FRENCH},Cy\n"

    def test_counts_its_rows_by_country_at_once(self):
        limits(each=4)

        with counted() as statements:
            batch_of(self.FILE)
        batch_of(self.FILE)

        assert counts() == {"DE": 2, "FR": 4}
        assert sum("INSERT INTO sms_count" in statement for statement in statements) == 2

    def test_is_refused_whole_when_it_goes_over(self):
        limits(FR=3)
        text(FRENCH)
        text(FRENCH)
        stored = row_counts()

        for skip_bad_rows in (False, True):
            with pytest.raises(OverLimit) as caught:
                batch_of(self.FILE, skip_bad_rows=skip_bad_rows)
            [error] = caught.value.errors
            assert (error.field, error.reason) == ("to.sms", "more than 3 SMS an hour to FR")
            assert error.accepted.startswith("at most 1 more; again after ")

        assert row_counts() == stored
        assert counts() == {"FR": 2}

    def test_that_no_hour_could_take_is_not_asked_to_come_again(self):
        limits(DE=9, FR=1)

        error = refused(self.FILE)

        assert not isinstance(error, OverLimit)
        assert said(error) == [(None, "to.sms", "2 SMS to FR at once, and at most 1 an hour may go there")]
        assert counts() == {}

    def test_counts_no_row_that_it_skips(self):
        limits(DE=9)

        batch_of(f"to,name\n{GERMAN},Ana\n{GERMAN},\n", skip_bad_rows=True)

        assert counts() == {"DE": 1}

    def test_counts_once_under_its_key(self):
        limits(DE=3)

        batch_of(guests(3), key="k1")

        assert batch_of(guests(3), key="k1").replayed
        assert counts() == {"DE": 3}

    def test_counts_nothing_for_a_client_without_limits(self):
        with counted() as statements:
            batch_of(self.FILE)

        assert not any("INTO sms_count" in statement for statement in statements)


def test_a_route_that_may_send_more_than_the_limit_is_no_matter_of_time():
    limits(DE=1)
    steps = [{"channel": "sms", "wait_for": "delivered", "window_seconds": 60}, {"channel": "sms"}]
    factories.Route.objects.create(name="twice", steps=steps)

    with pytest.raises(Refused, match="2 SMS to DE at once") as caught:
        text(route="twice")

    assert not isinstance(caught.value, OverLimit)
