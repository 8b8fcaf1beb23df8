"""Evidence: what reports add up to, in whatever order they come and however often."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from notifications.reasons import Reason
from notifications.services.evidence import RANKS, Judgement, Subject, fold, judge
from notifications.states import ENDED, OPEN, State, check_move
from providers.messages import EventKind
from providers.messages import EventKind as Kind

Report = tuple[int, EventKind]  # of which attempt, and what

ATTEMPTS = (1, 2)
SPEAKING = [(attempt, kind) for attempt in ATTEMPTS for kind in RANKS]  # all reports that can change anything
SILENT = [(attempt, kind) for attempt in ATTEMPTS for kind in Kind if kind not in RANKS]
UP_TO_SIX = [
    frozenset(reports) for size in range(1, 7) for reports in combinations(SPEAKING, size)
]  # smaller ones first
WITHOUT_ONE = {reports: [reports - {report} for report in reports] for reports in UP_TO_SIX}

SUBJECTS = [
    Subject(state, newest_attempt, may_send_again)
    for state in State
    for newest_attempt in ATTEMPTS
    for may_send_again in (True, False)
]


def name(subject: Subject) -> str:
    again = "-may-go-again" if subject.may_send_again else ""
    return f"{subject.state}-newest-{subject.newest_attempt}{again}"


def step(state: State, subject: Subject, known: Iterable[Report]) -> State:
    """What one turn of services/apply makes of a message in `state`. Raises InvalidMove where it may not."""
    judgement = judge(Subject(state, subject.newest_attempt, subject.may_send_again), known)
    if judgement is None:
        return state
    check_move(state, judgement.state)
    return judgement.state


def apply(subject: Subject, reports: Iterable[Report]) -> State:
    """The state after these reports came one by one, each judged with all that came before it."""
    state, known = subject.state, []
    for report in reports:
        known.append(report)
        state = step(state, subject, known)
    return state


def judged(state: State, *reports: Report, newest: int = 1, again: bool = False) -> State:
    """The state after these reports came all at once."""
    return step(state, Subject(state, newest, again), reports)


class TestEveryOrder:
    """No engine step between: neither a new attempt, nor the next step, nor a deadline."""

    @pytest.mark.parametrize("subject", SUBJECTS, ids=name)
    def test_of_up_to_six_reports_ends_the_same_however_often_each_is_repeated(self, subject):
        # Every order, without walking each: what a set of reports can end in follows from what the same set without its
        # last report can end in. A repetition is another turn with the same reports: where a turn moved, one more follows.
        endings: dict[frozenset[Report], set[State]] = {frozenset(): {subject.state}}
        for reports in UP_TO_SIX:
            before = set().union(*(endings[fewer] for fewer in WITHOUT_ONE[reports]))
            once = {step(state, subject, reports) for state in before}
            endings[reports] = once | {step(state, subject, reports) for state in once - before}

        disagreeing = {reports: ends for reports, ends in endings.items() if len(ends) > 1}

        assert not disagreeing

    @pytest.mark.parametrize("subject", SUBJECTS, ids=name)
    def test_of_three_reports_walked_one_by_one_ends_the_same(self, subject):
        disagreeing = [
            reports
            for reports in combinations(SPEAKING, 3)
            if len({apply(subject, order) for order in permutations(reports)}) > 1
        ]

        assert not disagreeing

    @settings(deadline=None)  # a busy machine is no fault
    @given(
        subject=some.sampled_from(SUBJECTS),
        reports=some.lists(some.sampled_from(SPEAKING + SILENT), max_size=6),
        again=some.lists(some.integers(0, 5), max_size=6),
        data=some.data(),
    )
    def test_of_any_reports_ends_as_if_each_had_come_once_and_all_together(self, subject, reports, again, data):
        repeated = reports + [reports[index % len(reports)] for index in again if reports]
        shuffled = data.draw(some.permutations(repeated))

        assert apply(subject, shuffled) == step(subject.state, subject, reports)


class TestKindsThatSayNothing:
    @pytest.mark.parametrize("subject", SUBJECTS, ids=name)
    def test_change_nothing_alone(self, subject):
        assert judge(subject, SILENT) is None

    @pytest.mark.parametrize("subject", SUBJECTS, ids=name)
    def test_change_nothing_beside_others(self, subject):
        alone = [judge(subject, [report]) for report in SPEAKING]
        beside = [judge(subject, [*SILENT, report]) for report in SPEAKING]

        assert beside == alone

    def test_are_all_that_have_no_rank(self):
        assert set(Kind) - set(RANKS) == {Kind.COMPLAINED, Kind.OPTED_OUT, Kind.NOT_THERE, Kind.UNKNOWN}


class TestFold:
    def test_ranks_as_the_design_says_and_none_beside_another(self):
        assert len(set(RANKS.values())) == len(RANKS)
        assert sorted(RANKS, key=RANKS.__getitem__) == [
            Kind.ACCEPTED,
            Kind.SENT,
            Kind.NOT_REACHED,
            Kind.EXPIRED,
            Kind.FAILED,
            Kind.DELIVERED,
            Kind.BOUNCED,
        ]

    def test_keeps_the_highest_kind_of_each_attempt(self):
        reports = [(1, Kind.SENT), (2, Kind.FAILED), (1, Kind.NOT_REACHED), (1, Kind.ACCEPTED), (2, Kind.UNKNOWN)]

        assert fold(reports) == {1: Kind.NOT_REACHED, 2: Kind.FAILED}

    def test_of_nothing_is_empty(self):
        assert fold([]) == {}


class TestAnOpenMessage:
    @pytest.mark.parametrize("state", sorted(OPEN))
    @pytest.mark.parametrize(
        ("kind", "becomes"),
        [
            (Kind.ACCEPTED, Judgement(State.SENT, "")),
            (Kind.SENT, Judgement(State.SENT, "")),
            (Kind.NOT_REACHED, Judgement(State.FAILED, Reason.NOT_REACHED)),
            (Kind.EXPIRED, Judgement(State.FAILED, Reason.EXPIRED_AT_PROVIDER)),
            (Kind.FAILED, Judgement(State.FAILED, Reason.NOT_DELIVERED)),
            (Kind.DELIVERED, Judgement(State.DELIVERED, "")),
            (Kind.BOUNCED, Judgement(State.FAILED, Reason.BOUNCED)),
        ],
    )
    def test_follows_its_newest_attempt(self, state, kind, becomes):
        expected = None if becomes.state is state else becomes

        assert judge(Subject(state, 1, may_send_again=False), [(1, kind)]) == expected

    @pytest.mark.parametrize("state", sorted(OPEN))
    @pytest.mark.parametrize("kind", sorted(set(RANKS) - {Kind.DELIVERED}))
    def test_does_not_follow_an_earlier_attempt(self, state, kind):
        assert judged(state, (1, kind), newest=2) is state

    @pytest.mark.parametrize("state", sorted(OPEN))
    def test_is_delivered_by_an_earlier_attempt_whatever_the_newest_says(self, state):
        assert judged(state, (1, Kind.DELIVERED), (2, Kind.BOUNCED), newest=2) is State.DELIVERED

    @pytest.mark.parametrize("state", sorted(OPEN))
    @pytest.mark.parametrize("newest", ATTEMPTS)
    def test_fails_by_a_bounce_that_undoes_its_only_delivery(self, state, newest):
        assert judged(state, (1, Kind.DELIVERED), (1, Kind.BOUNCED), newest=newest) is State.FAILED

    def test_has_no_evidence_before_its_first_attempt(self):
        assert judged(State.QUEUED, newest=0) is State.QUEUED


class TestNotReached:
    @pytest.mark.parametrize("state", [State.SENT, State.UNCERTAIN])
    def test_sends_once_more_where_nothing_else_can_be_done(self, state):
        subject = Subject(state, 1, may_send_again=True)

        assert judge(subject, [(1, Kind.NOT_REACHED)]) == Judgement(State.QUEUED, Reason.NOT_REACHED)

    def test_leaves_a_message_queued_that_is_queued_again_already(self):
        assert judged(State.QUEUED, (1, Kind.NOT_REACHED), again=True) is State.QUEUED

    @pytest.mark.parametrize("first", [Kind.NOT_REACHED, Kind.EXPIRED, Kind.FAILED, Kind.BOUNCED])
    def test_fails_for_good_after_another_attempt_came_to_nothing(self, first):
        assert judged(State.SENT, (1, first), (2, Kind.NOT_REACHED), newest=2, again=True) is State.FAILED

    @pytest.mark.parametrize("first", [Kind.ACCEPTED, Kind.SENT])
    def test_counts_no_attempt_that_is_merely_on_its_way(self, first):
        assert judged(State.SENT, (1, first), (2, Kind.NOT_REACHED), newest=2, again=True) is State.QUEUED


# What one report about the only attempt of an ended message makes of it; "." is nothing.
CORRECTIONS = """
                accepted  sent  not_reached  expired  failed  delivered  bounced
delivered       .         .     .            .        .       .          failed
failed          .         .     .            .        .       delivered  .
expired         .         .     .            .        .       delivered  .
suppressed      .         .     .            .        .       delivered  .
cancelled       .         .     .            .        .       delivered  .
unconfirmed     .         .     failed       failed   failed  delivered  failed
dead_lettered   .         .     .            .        .       delivered  .
"""


def corrections() -> list[tuple[State, EventKind, State]]:
    header, *rows = [line.split() for line in CORRECTIONS.strip().splitlines()]
    return [
        (State(row[0]), Kind(kind), State(row[0] if cell == "." else cell))
        for row in rows
        for kind, cell in zip(header, row[1:], strict=True)
    ]


class TestAnEndedMessage:
    def test_has_every_end_and_every_kind_in_the_table(self):
        assert {(state, kind) for state, kind, _ in corrections()} == {
            (state, kind) for state in ENDED for kind in RANKS
        }

    @pytest.mark.parametrize(("state", "kind", "becomes"), corrections())
    @pytest.mark.parametrize("again", [True, False])
    def test_is_corrected_as_the_table_says(self, state, kind, becomes, again):
        assert judged(state, (1, kind), again=again) is becomes

    @pytest.mark.parametrize("state", sorted(ENDED - {State.DELIVERED}))
    def test_is_delivered_by_an_earlier_attempt_too(self, state):
        assert judged(state, (1, Kind.DELIVERED), newest=2) is State.DELIVERED

    @pytest.mark.parametrize("state", sorted(ENDED))
    @pytest.mark.parametrize("newest", ATTEMPTS)
    def test_fails_by_a_bounce_that_undoes_its_only_delivery(self, state, newest):
        assert judged(state, (1, Kind.BOUNCED), (1, Kind.DELIVERED), newest=newest) is State.FAILED

    def test_keeps_another_delivery_when_one_bounces(self):
        reports = [(1, Kind.DELIVERED), (2, Kind.DELIVERED), (2, Kind.BOUNCED)]

        assert judged(State.DELIVERED, *reports, newest=2) is State.DELIVERED
