"""Claim: each due entry to one worker, for the length of a lease."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from notifications.lanes import Lane
from notifications.models import OutboxEntry
from notifications.sql.claim import CLAIM, claim, due_lanes, release
from notifications.states import State
from tests import factories
from tests.factories import SECOND, run_out
from tests.notifications.racing import together

LEASE_SECONDS = 60.0

pytestmark = pytest.mark.usefixtures("seeded")


def claim_some(limit=100, lane=Lane.NORMAL, token=None):
    return claim(lane, limit, claim=token or uuid4(), lease_seconds=LEASE_SECONDS)


def ids(rows):
    return [row.message_id for row in rows]


class TestClaim:
    def test_takes_what_is_due_and_nothing_else(self):
        due = factories.message()
        factories.message(due_in=timedelta(minutes=1))

        assert ids(claim_some()) == [due.id]

    def test_takes_only_entries_of_its_lane(self):
        factories.message(of=factories.notification(priority="critical"))
        normal = factories.message(of=factories.notification(priority="normal"))
        factories.message(State.SENT, of=factories.notification(priority="normal"))

        assert ids(claim_some(lane=Lane.NORMAL)) == [normal.id]

    def test_takes_no_more_than_its_limit_and_the_longest_due_first(self):
        newest = factories.message(due_in=-SECOND)
        oldest = factories.message(due_in=-3 * SECOND)
        middle = factories.message(due_in=-2 * SECOND)

        assert set(ids(claim_some(limit=2))) == {oldest.id, middle.id}
        assert ids(claim_some(limit=2)) == [newest.id]

    def test_takes_the_smaller_id_first_of_entries_due_at_once(self):
        messages = [factories.message() for _ in range(4)]
        OutboxEntry.objects.update(due_at=timezone.now() - SECOND)

        assert ids(claim_some(limit=2)) == sorted(message.id for message in messages)[:2]

    def test_writes_the_claim_a_lease_by_the_clock_of_the_database_and_a_strike(self):
        message, token = factories.message(), uuid4()

        (row,) = claim_some(token=token)

        entry = OutboxEntry.objects.get(message=message)
        assert (entry.claim, entry.strikes, row.strikes) == (token, 1, 1)
        lease = (entry.due_at - row.now).total_seconds()
        assert LEASE_SECONDS - 1 < lease <= LEASE_SECONDS

    def test_leaves_a_claimed_entry_alone_until_its_lease_runs_out(self):
        message = factories.message()
        claim_some()

        assert claim_some() == []

        run_out(message)
        (row,) = claim_some()
        assert (row.message_id, row.strikes) == (message.id, 2)

    def test_passes_over_what_another_is_claiming_instead_of_waiting(self, aside):
        locked, free = factories.message(due_in=-2 * SECOND), factories.message()

        with transaction.atomic():
            OutboxEntry.objects.select_for_update().get(message=locked)
            rows = aside(claim_some).result(5)

        assert ids(rows) == [free.id]

    def test_gives_no_row_to_two_workers(self, aside):
        expected = {factories.message().id for _ in range(150)}

        def claim_until_nothing_is_left():
            taken = []
            while rows := claim_some(limit=3):
                taken += ids(rows)
            return taken

        takes = together(aside, *[claim_until_nothing_is_left] * 4)

        everything = [id for taken in takes for id in taken]
        assert len(everything) == len(set(everything))
        assert set(everything) == expected
        assert sum(bool(taken) for taken in takes) > 1, "one worker had it all: nothing was tested"

    def test_hands_over_the_open_attempt_of_a_holder_that_never_recorded_it(self):
        message = factories.message()
        account = factories.account()
        factories.begun(message, account)
        run_out(message)

        (row,) = claim_some()

        assert (row.attempt, row.open_account_id) == (1, account.id)
        assert row.began_at is not None

    def test_says_whether_the_incident_is_over_the_client_stopped_it_or_the_address_is_suppressed(self):
        now = timezone.now()
        fine = factories.message()
        going_on = factories.message(of=factories.notification(incident=factories.incident("on")))
        over = factories.message(of=factories.notification(incident=factories.incident("over", ended_at=now)))
        stopped = factories.message(of=factories.notification(stopped_at=now))
        suppressed = factories.message(address="+4915112345699")
        factories.suppression(suppressed, reason="opted_out")

        rows = {row.message_id: row for row in claim_some()}

        said = {id: (row.is_incident_over, row.is_stopped, row.suppressed) for id, row in rows.items()}
        assert said == {
            fine.id: (False, False, None),
            going_on.id: (False, False, None),
            over.id: (True, False, None),
            stopped.id: (False, True, None),
            suppressed.id: (False, False, "opted_out"),
        }

    def test_does_not_count_a_suppression_that_is_over_or_of_another_channel(self):
        message = factories.message()
        factories.suppression(message, until=timezone.now() - SECOND)
        mail = factories.message(of=factories.notification("email"))
        factories.suppression(mail, until=timezone.now() + 60 * SECOND)

        by_id = {row.message_id: row.suppressed for row in claim_some()}

        assert by_id == {message.id: None, mail.id: "invalid"}

    def test_hands_over_the_newest_finished_attempt_of_an_uncertain_message(self):
        message = factories.message(State.UNCERTAIN, attempt_count=2)
        newest = factories.attempt(message, message.account, number=2, provider_message_id="SM2")

        (row,) = claim_some(lane=Lane.UPKEEP)

        assert (row.last_began_at, row.last_provider_message_id) == (newest.began_at, "SM2")


def of(client: str, **fields):
    return factories.message(of=factories.notification(client=factories.client(client)), **fields)


class TestFairness:
    def test_gives_each_client_the_same_share_whoever_came_first(self):
        crowd = [of("crowd", due_in=-60 * SECOND).id for _ in range(20)]
        few = [of("few").id for _ in range(5)]

        taken = ids(claim_some(limit=8))

        assert (len(set(taken) & set(crowd)), len(set(taken) & set(few))) == (4, 4)

    def test_gives_the_others_what_a_client_leaves_of_its_share(self):
        for client, count in (("a", 1), ("b", 3), ("c", 30), ("d", 30)):
            for _ in range(count):
                of(client)

        rows = claim_some(limit=20)

        names = dict(OutboxEntry.objects.values_list("message_id", "client__name"))
        assert Counter(names[id] for id in ids(rows)) == {"a": 1, "b": 3, "c": 8, "d": 8}

    def test_fills_a_batch_that_one_client_alone_can_fill(self):
        for _ in range(10):
            of("alone")
        of("other", due_in=60 * SECOND)

        assert len(claim_some(limit=9)) == 9

    @pytest.mark.parametrize("limit", [1, 2])
    def test_takes_no_more_than_its_limit_when_there_are_more_clients(self, limit):
        oldest = of("a", due_in=-3 * SECOND)
        for name in "bcd":
            of(name)

        rows = claim_some(limit=limit)

        assert len(rows) == limit
        assert oldest.id in ids(rows)

    def test_finds_work_of_another_client_while_one_is_being_claimed(self, aside):
        locked, free = of("a", due_in=-2 * SECOND), of("b")

        with transaction.atomic():
            OutboxEntry.objects.select_for_update().get(message=locked)
            rows = aside(claim_some, limit=1).result(5)

        assert ids(rows) == [free.id]

    def test_takes_everything_in_the_end(self):
        expected = {of(name).id for name in "abcab" for _ in range(7)}

        taken = []
        while rows := claim_some(limit=4):
            taken += ids(rows)

        assert sorted(taken) == sorted(expected)


class TestRelease:
    def test_gives_entries_back_as_if_they_had_never_been_claimed(self):
        message, token = factories.message(), uuid4()
        claim_some(token=token)

        release([message.id], claim=token)

        (row,) = claim_some()
        assert (row.message_id, row.strikes) == (message.id, 1)

    @pytest.mark.parametrize("case", ["another claim", "already begun"])
    def test_leaves_alone_what_is_not_ours_to_give_back(self, case):
        message, token = factories.message(), uuid4()
        claim_some(token=token)
        if case == "already begun":
            factories.begun(message, factories.account(), claim=token)

        release([message.id], claim=token if case == "already begun" else uuid4())

        entry = OutboxEntry.objects.get(message=message)
        assert (entry.claim, entry.strikes) == (token, 1)


class TestDueLanes:
    def test_names_the_lanes_in_which_something_is_due(self):
        factories.message(of=factories.notification(priority="critical"))
        factories.message(of=factories.notification(priority="bulk"), due_in=60 * SECOND)
        factories.message(State.SENT, of=factories.notification(priority="high"))

        assert due_lanes() == [Lane.CRITICAL, Lane.CONTROL]


class TestPlan:
    """How PostgreSQL runs the claim, with sequential scans made dear as they are in a large outbox."""

    @pytest.fixture
    def plan(self):
        for _ in range(50):
            factories.message(due_in=timedelta(hours=1))
        parameters = {"lane": "normal", "limit": 1, "claim": uuid4(), "lease": LEASE_SECONDS}
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {CLAIM}", parameters)
            return "\n".join(line for (line,) in cursor.fetchall())

    def test_reads_no_more_of_an_idle_lane_than_what_is_due(self, plan):
        """A volatile bound is no index bound: 93 ms against 0.1 over a million waiting entries."""
        condition = next(line for line in plan.splitlines() if "Index Cond" in line and "due_at" in line)

        assert "due_at <= now()" in condition

    def test_goes_to_the_claimed_entries_directly(self, plan):
        """By key, the planner scanned the whole outbox."""
        assert "Tid Scan on outbox" in plan
