"""What arrives is counted at a fixed age, and an account from which far less arrives than usually comes last there."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from notifications.ids import first_id_at
from notifications.models import Arrival, Attempt, Breaker, Cause, ScanPosition
from notifications.numbers import DAY
from notifications.services import arrivals
from notifications.services.arrivals import is_dead, judge_arrivals, told
from notifications.sql.arrivals import Shares
from notifications.states import State
from tests import factories
from tests.factories import SECOND
from tests.notifications.old import clean
from tests.notifications.racing import together

AGE = timedelta(seconds=120)

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture
def begun(seeded):
    """Counting has begun, with nothing on file."""
    judge_arrivals(now=timezone.now())


def judge(*, later: timedelta = AGE + SECOND) -> int:
    """Count and judge as if it were so much later."""
    return judge_arrivals(now=timezone.now() + later)


def counted() -> list[tuple[str, str, int, int]]:
    """Account, country, taken and arrived; its minutes together."""
    sums: dict[tuple[str, str], list[int]] = {}
    for row in Arrival.objects.select_related("account"):
        of = sums.setdefault((row.account.slug, row.country), [0, 0])
        of[0] += row.taken_count
        of[1] += row.delivered_count
    return sorted((*of, *both) for of, both in sums.items())


def german(state: State = State.SENT, *, ended_at=None, **fields):
    message = factories.message(state, **fields)
    if ended_at:
        message.attempts.update(ended_at=ended_at)
    return message


def french(state: State = State.SENT):
    return factories.message(state, of=factories.notification(recipient={"sms": "+33612345601"}))


class TestCounting:
    def test_is_by_account_and_country(self, begun):
        spare = factories.account("spare")
        for state in (State.SENT, State.DELIVERED, State.DELIVERED, State.UNCONFIRMED):
            german(state)
        french(State.DELIVERED)
        german(account=spare)

        judge()

        assert counted() == [("spare", "DE", 1, 0), ("twilio", "DE", 4, 2), ("twilio", "FR", 1, 1)]

    def test_is_by_the_minute(self, begun):
        now = timezone.now().replace(second=30)
        for minute in (2, 1, 0):
            german(State.DELIVERED, ended_at=now - minute * timedelta(minutes=1))

        judge_arrivals(now=now + AGE)

        assert Arrival.objects.count() == 2, "the newest is too young"
        judge_arrivals(now=now + AGE + SECOND)
        assert list(Arrival.objects.order_by("minute").values_list("taken_count", flat=True)) == [1, 1, 1]
        assert all(row.minute.second == 0 for row in Arrival.objects.all())

    def test_leaves_out_what_was_not_taken(self, begun):
        german(State.FAILED)
        german(State.UNCERTAIN)

        judge()

        assert counted() == []

    def test_goes_by_when_it_was_sent_and_not_by_when_it_was_accepted(self, begun):
        german(State.DELIVERED, id=first_id_at(timezone.now() - timedelta(days=3)))

        judge()

        assert counted() == [("twilio", "DE", 1, 1)]

    def test_waits_until_it_is_old_enough(self, begun):
        german()

        judge(later=AGE - SECOND)
        assert counted() == []
        judge()
        assert counted() == [("twilio", "DE", 1, 0)]

    def test_leaves_out_what_is_too_old(self, begun):
        german(State.DELIVERED, ended_at=timezone.now() - timedelta(minutes=5))

        judge()

        assert counted() == []

    def test_leaves_out_accounts_whose_provider_reports_nothing(self, begun):
        german(account=factories.account("infrai", provider="infrai"))

        judge()

        assert counted() == []

    def test_counts_nothing_twice(self, begun, aside):
        german(State.DELIVERED)
        now = timezone.now() + AGE + SECOND

        together(aside, *[lambda: judge_arrivals(now=now)] * 4)
        judge_arrivals(now=now)

        assert counted() == [("twilio", "DE", 1, 1)]

    def test_adds_to_a_minute_that_is_counted_already(self, begun):
        now = timezone.now().replace(second=40)
        german(State.DELIVERED, ended_at=now - 20 * SECOND)
        judge_arrivals(now=now + AGE)
        german(ended_at=now - 10 * SECOND)

        judge_arrivals(now=now + AGE)

        row = Arrival.objects.get()
        assert (row.taken_count, row.delivered_count) == (2, 1)

    def test_begins_with_what_comes_after_its_first_run(self):
        german()

        judge()
        judge()

        assert counted() == []

    def test_passes_over_what_it_cannot_keep_up_with(self, begun, monkeypatch):
        monkeypatch.setattr(arrivals, "AT_ONCE", 2)
        for _ in range(5):
            german(ended_at=timezone.now() - timedelta(minutes=5))

        judge()

        assert ScanPosition.objects.get().last_id == UUID(int=Attempt.objects.latest("id").id)
        german(State.DELIVERED)
        judge()
        assert counted() == [("twilio", "DE", 1, 1)]

    def test_is_forgotten_after_two_days(self, begun):
        account = factories.account()
        for hours in (47, 49):
            minute = timezone.now() - timedelta(hours=hours)
            Arrival.objects.create(account=account, country="DE", minute=minute, taken_count=1, delivered_count=1)

        clean(days=0)

        assert Arrival.objects.get().minute > timezone.now() - timedelta(hours=48)


def shares(taken: int, delivered: int, usually_taken: int, usually_delivered: int) -> Shares:
    return Shares(1, "DE", taken, delivered, usually_taken, usually_delivered)


class TestJudgement:
    @pytest.mark.parametrize(
        ("share", "dead"),
        [
            (shares(41, 3, 1000, 930), True),
            (shares(20, 0, 100, 93), True),
            (shares(19, 0, 100, 93), False),  # too few lately
            (shares(20, 0, 99, 93), False),  # too few usually
            (shares(100, 18, 100, 93), True),  # a fifth of 93 is 18.6
            (shares(100, 19, 100, 93), False),
            (shares(100, 0, 100, 30), True),
            (shares(100, 0, 100, 29), False),  # few ever report
            (shares(100, 0, 1000, 0), False),
            (shares(0, 0, 0, 0), False),
        ],
    )
    def test_compares_with_what_is_usual(self, share, dead):
        assert is_dead(share) is dead

    def test_says_what_was_seen(self):
        assert told(shares(41, 3, 1000, 930)) == "3 of 41 arrived within 2 minutes, usually 93 %"

    def test_names_an_age_below_two_minutes_in_seconds(self, numbers_are):
        numbers_are(arrival_age_seconds=45.0)

        assert "within 45 seconds" in told(shares(20, 0, 100, 93))


class TestJudging:
    """By counts that lie in the database, with one message more that has just been counted."""

    @pytest.fixture
    def minutes(self, begun):
        """Counts of so long ago: taken and arrived."""
        account = factories.account()

        def make(ago: timedelta, taken: int, delivered: int, country: str = "DE"):
            Arrival.objects.create(
                account=account,
                country=country,
                minute=(timezone.now() - ago).replace(second=0, microsecond=0),
                taken_count=taken,
                delivered_count=delivered,
            )

        return make

    def test_opens_where_nothing_arrives_any_more(self, minutes):
        minutes(timedelta(hours=3), 100, 93)
        minutes(timedelta(hours=3), 100, 93, country="FR")
        minutes(timedelta(minutes=5), 19, 0)
        minutes(timedelta(minutes=5), 19, 17, country="FR")
        german()
        french()

        judge()

        breaker = Breaker.objects.get()
        assert (breaker.country, breaker.cause, breaker.is_last_resort) == ("DE", Cause.RECEIPTS, True)
        assert breaker.detail == "0 of 20 arrived within 2 minutes, usually 93 %"

    @pytest.mark.parametrize(
        ("usual_ago", "recent_ago"),
        [
            (timedelta(hours=26), timedelta(minutes=5)),  # what was usual is too long ago
            (timedelta(hours=3), timedelta(minutes=20)),  # what fails to arrive as well
        ],
    )
    def test_looks_at_fifteen_minutes_and_at_a_day_before_them(self, minutes, usual_ago, recent_ago):
        minutes(usual_ago, 100, 93)
        minutes(recent_ago, 19, 0)
        german()

        judge()

        assert not Breaker.objects.exists()

    def test_alarms_once(self, minutes, caplog):
        minutes(timedelta(hours=3), 100, 93)
        minutes(timedelta(minutes=5), 30, 0)
        for _ in range(3):
            german()
            judge()

        alarms = [record for record in caplog.records if "do not arrive there" in record.getMessage()]
        assert [record.levelname for record in alarms] == ["ERROR"]

    @pytest.mark.parametrize(
        ("cause", "becomes"),
        [
            (Cause.CALLS, Cause.RECEIPTS),
            (Cause.REGISTRATION, Cause.REGISTRATION),
            (Cause.OPERATOR, Cause.OPERATOR),
        ],
    )
    def test_takes_the_place_of_failed_calls_only(self, minutes, cause, becomes):
        minutes(timedelta(hours=3), 100, 93)
        minutes(timedelta(minutes=5), 30, 0)
        message = german()
        until = timezone.now() + DAY * SECOND
        Breaker.objects.create(account=message.account, country="DE", cause=cause, opened_until=until)

        judge()

        breaker = Breaker.objects.get()
        assert breaker.cause == becomes
        assert (breaker.is_last_resort, breaker.calls_fail) == (cause == Cause.CALLS,) * 2
