"""What an outcome leads to: every error in every situation, in one table."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any
from uuid import UUID

import pytest

from notifications.accounts import ConnectedAccount
from notifications.models import Outcome
from notifications.numbers import numbers
from notifications.reasons import Reason
from notifications.services.outcomes import (
    OUTCOMES,
    Opens,
    Situation,
    give_up,
    lead_of,
    lead_on,
    next_check,
    send_again,
    taken,
)
from notifications.sql.claim import Claimed
from notifications.sql.record import Verdict
from notifications.states import State
from providers.base import Provider
from providers.errors import (
    AccountError,
    AddressForbidden,
    AuthenticationFailed,
    ContentRejected,
    EndpointGone,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    InvalidSignature,
    MalformedWebhook,
    NotStarted,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientBusy,
    RecipientError,
    RecipientOptedOut,
    RecipientUnavailable,
    RouteRejected,
    SenderNotAllowed,
    SenderNotRegistered,
    TokenRefused,
    TransientError,
    Unavailable,
    UnknownRefusal,
    UnsupportedFeature,
)
from providers.messages import Ability, Account, SendResult

NOW = datetime(2027, 1, 15, 10, tzinfo=UTC)
BEGAN = NOW - timedelta(seconds=2)
HOUR = timedelta(hours=1)
OURS, OTHER = 7, 8  # the account that was asked, and one that was asked before
LAST_TRY = 7  # of 8 are spent

ONE_STEP = [{"channel": "sms"}]
TWO_STEPS = [{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}]


class Pigeon(Provider):
    """A provider with the abilities it is given."""

    name = "pigeon"
    default_base_url = "https://pigeon.example"

    def __init__(self, abilities: Collection[Ability] = ()) -> None:
        super().__init__(Account("pigeon", credentials={}))
        self.abilities = frozenset(abilities)  # type: ignore[misc]

    def send_request(self, message, attempt):
        raise NotImplementedError

    def send_result(self, answer):
        raise NotImplementedError


def an_account(*abilities: Ability, look_up_delay_seconds: float = 5.0) -> ConnectedAccount:
    pigeon = Pigeon(abilities)
    return ConnectedAccount(
        id=OURS,
        slug="pigeon",
        is_on=True,
        channels=frozenset({"sms"}),
        reach="",
        countries=frozenset(),
        priority=10,
        weight=1,
        denied_countries=frozenset(),
        opened_at=None,
        opened_until=None,
        opened_reason="",
        look_up_delay_seconds=look_up_delay_seconds,
        provider=pigeon,
        abilities=pigeon.abilities,
    )


def a_row(steps: list[dict[str, Any]] = ONE_STEP, **changes: Any) -> Claimed:
    """A claimed entry of a queued message, useful for an hour, that one account has refused since the last wait."""
    return Claimed(
        **{
            "now": NOW,
            "message_id": UUID(int=1),
            "strikes": 1,
            "attempt": None,
            "open_account_id": None,
            "began_at": None,
            "turn_at": None,
            "turn_account": None,
            "notification_id": UUID(int=2),
            "step": 0,
            "channel": "sms",
            "address": "+4915112345678",
            "address_hash": "h",
            "country": "DE",
            "state": "queued",
            "reason": "waiting_to_retry",
            "account_id": OTHER,
            "tried": [OTHER],
            "rerouted": False,
            "attempt_count": 1,
            "tries": 1,
            "checks": 0,
            "not_there": 0,
            "perhaps_sent": False,
            "escalate_at": None,
            "escalated_at": None,
            "receipt_deadline": None,
            "category": "transactional",
            "priority": "normal",
            "recipient_json": json.dumps({"sms": "+4915112345678", "email": "ana@example.org"}),
            "content": json.dumps({"sms": {"text": "Table ready"}}),
            "steps": json.dumps(steps),
            "on_unclear": "hold",
            "expires_at": NOW + 2 * HOUR,
            "is_stopped": False,
            "is_incident_over": False,
            "restored_at": None,
            "suppressed": None,
            "last_began_at": None,
            "last_provider_message_id": None,
            "last_provider_key": None,
            "last_request_hash": None,
            "last_useful_seconds": None,
            **changes,
        }
    )


def a_situation(
    row: Claimed | None = None, *, account: ConnectedAccount | None = None, has_another: bool = False, dice: float = 1.0
) -> Situation:
    chance = Random()
    chance.random = lambda: dice  # type: ignore[method-assign]
    return Situation(row or a_row(), account or an_account(), NOW, BEGAN, chance, lambda tried: has_another)


# When the entry is due: see due_of.
NEVER, AT_ONCE, AFTER_A_WAIT, AFTER_THE_LOOK_UP_DELAY = "never", "at once", "after a wait", "after the look-up delay"
WHEN_IT_LOOKS_AGAIN = "when it looks whether its endpoint is on"

KEPT, ADDED, FORGOTTEN = (OTHER,), (OTHER, OURS), ()  # accounts not to be tried next


@dataclass(frozen=True)
class Then:
    state: State
    reason: Reason
    due: str = NEVER
    spends: int = 0  # tries
    tried: tuple[int, ...] = KEPT
    reroutes: bool = False  # uses up its one chance with another account


@dataclass(frozen=True)
class Row:
    """What these errors lead to where the conditions hold; None holds either way."""

    errors: tuple[type[ProviderError], ...]
    then: Then
    last_try: bool | None = None
    another: bool | None = None
    next_step: bool | None = None
    rerouted: bool | None = None

    def holds(self, *facts: bool) -> bool:
        conditions = (self.last_try, self.another, self.next_step, self.rerouted)
        return all(condition in (None, fact) for condition, fact in zip(conditions, facts, strict=True))


TRANSIENT = (Unavailable, TransientError, RecipientBusy, TokenRefused)
UNCLEAR = (OutcomeUnknown, ProviderError, InvalidSignature, MalformedWebhook)
RECIPIENT = (InvalidRecipient, RecipientUnavailable, RecipientError)
ROUTE = (RouteRejected, UnknownRefusal)
OPENING = {
    Opens.ACCOUNT: (AuthenticationFailed, InsufficientBalance, SenderNotAllowed, AccountError),
    Opens.SENDER: (SenderNotRegistered,),
    Opens.ENDPOINT: (EndpointGone, AddressForbidden),
}
ACCOUNT = (*OPENING[Opens.ACCOUNT], *OPENING[Opens.SENDER])
ENDPOINT = OPENING[Opens.ENDPOINT]
REQUEST = (InvalidRequest,)
FEATURE = (UnsupportedFeature,)

WAITING = Reason.WAITING_TO_RETRY
TABLE = [
    # Nothing was sent.
    Row((NotStarted,), Then(State.QUEUED, WAITING, AT_ONCE)),
    Row(TRANSIENT, Then(State.QUEUED, WAITING, AT_ONCE, 1, ADDED), last_try=False, another=True),
    Row(TRANSIENT, Then(State.QUEUED, WAITING, AFTER_A_WAIT, 1, FORGOTTEN), last_try=False, another=False),
    Row(TRANSIENT, Then(State.FAILED, Reason.TRIES_USED_UP, NEVER, 1), last_try=True, next_step=True),
    Row(TRANSIENT, Then(State.DEAD_LETTERED, Reason.TRIES_USED_UP, NEVER, 1), last_try=True, next_step=False),
    Row((RateLimited,), Then(State.QUEUED, WAITING, AT_ONCE, 0, ADDED), another=True),
    Row((RateLimited,), Then(State.QUEUED, WAITING, AFTER_A_WAIT, 0, FORGOTTEN), another=False),
    # Nobody knows.
    Row(UNCLEAR, Then(State.UNCERTAIN, Reason.OUTCOME_UNKNOWN, AFTER_THE_LOOK_UP_DELAY, 1)),
    # The recipient, the text, the way there.
    Row(RECIPIENT, Then(State.FAILED, Reason.RECIPIENT_REFUSED)),
    Row((RecipientOptedOut,), Then(State.SUPPRESSED, Reason.OPTED_OUT)),
    Row((ContentRejected,), Then(State.FAILED, Reason.CONTENT_REJECTED)),
    Row(
        ROUTE,
        Then(State.QUEUED, Reason.ROUTE_REJECTED, AT_ONCE, 1, ADDED, reroutes=True),
        another=True,
        rerouted=False,
    ),
    Row(ROUTE, Then(State.FAILED, Reason.ROUTE_REJECTED), another=False, rerouted=False),
    Row(ROUTE, Then(State.FAILED, Reason.ROUTE_REJECTED), rerouted=True),
    # Ours to mend.
    Row(ACCOUNT, Then(State.QUEUED, Reason.ACCOUNT_AT_FAULT, AT_ONCE, 0, ADDED), another=True),
    Row(ACCOUNT, Then(State.FAILED, Reason.ACCOUNT_AT_FAULT), another=False, next_step=True),
    Row(ACCOUNT, Then(State.DEAD_LETTERED, Reason.ACCOUNT_AT_FAULT), another=False, next_step=False),
    Row(ENDPOINT, Then(State.QUEUED, Reason.ENDPOINT_OFF, WHEN_IT_LOOKS_AGAIN)),
    Row(FEATURE, Then(State.QUEUED, Reason.NOT_CARRIED, AT_ONCE, 0, ADDED), another=True),
    Row(FEATURE, Then(State.FAILED, Reason.NOT_CARRIED), another=False, next_step=True),
    Row(FEATURE, Then(State.DEAD_LETTERED, Reason.NOT_CARRIED), another=False, next_step=False),
    Row(REQUEST, Then(State.FAILED, Reason.INVALID_REQUEST), next_step=True),
    Row(REQUEST, Then(State.DEAD_LETTERED, Reason.INVALID_REQUEST), next_step=False),
]

# What is known of the call itself. None: there was none, and no attempt is filed.
KNOWN = {
    (NotStarted,): None,
    (RateLimited, *TRANSIENT, AddressForbidden): Outcome.NOT_SENT,
    UNCLEAR: Outcome.UNCLEAR,
    (*RECIPIENT, RecipientOptedOut, ContentRejected, *ROUTE, *ACCOUNT, *FEATURE, *REQUEST): Outcome.REFUSED,
    (EndpointGone,): Outcome.REFUSED,
}
OUTCOME = {error: outcome for errors, outcome in KNOWN.items() for error in errors}
ERRORS = sorted(OUTCOME, key=lambda error: error.__name__)

FACTS = list(product([False, True], repeat=4))


def rows_for(error: type[ProviderError], facts: tuple[bool, ...]) -> list[Row]:
    return [row for row in TABLE if error in row.errors and row.holds(*facts)]


def situation_of(last_try: bool, another: bool, next_step: bool, rerouted: bool) -> Situation:
    row = a_row(TWO_STEPS if next_step else ONE_STEP, tries=LAST_TRY if last_try else 1, rerouted=rerouted)
    return a_situation(row, has_another=another)


def due_of(verdict: Verdict) -> str:
    """When the entry is due, in the words of the table. A wait after one try of a normal message: 1800 s / 127 or double."""
    waits = {NOW + timedelta(seconds=1800 / 127 * 2**tries) for tries in range(8)}
    moments = {
        None: NEVER,
        NOW: AT_ONCE,
        BEGAN + timedelta(seconds=10 + 5): AFTER_THE_LOOK_UP_DELAY,
        NOW + HOUR: WHEN_IT_LOOKS_AGAIN,
        **dict.fromkeys(waits, AFTER_A_WAIT),
    }
    return moments.get(verdict.due_at, str(verdict.due_at))


def every_error() -> set[type[ProviderError]]:
    classes, found = [ProviderError], set()
    while classes:
        error = classes.pop()
        found.add(error)
        classes += error.__subclasses__()
    return {error for error in found if error.__module__ == "providers.errors"}


class TestTheTable:
    def test_knows_every_error_a_provider_can_raise(self):
        assert set(ERRORS) == every_error()

    def test_has_one_row_for_every_error_in_every_situation(self):
        counts = {(error, facts): len(rows_for(error, facts)) for error in ERRORS for facts in FACTS}

        assert {key: count for key, count in counts.items() if count != 1} == {}

    @pytest.mark.parametrize("error", ERRORS)
    @pytest.mark.parametrize("facts", FACTS, ids=str)
    def test_is_what_happens(self, error, facts):
        (row,) = rows_for(error, facts)
        situation = situation_of(*facts)

        verdict = lead_on(situation, error())

        assert (
            Then(
                verdict.state,
                verdict.reason,
                due_of(verdict),
                verdict.tries - situation.row.tries,
                tuple(verdict.tried),
                verdict.rerouted is not situation.row.rerouted,
            )
            == row.then
        )

    @pytest.mark.parametrize("error", ERRORS)
    def test_files_what_is_known_of_the_call(self, error):
        verdict = lead_on(a_situation(), error("says no", code="21211", http_status=400))

        assert verdict.outcome is OUTCOME[error]
        assert verdict.error == ("" if error is NotStarted else error.__name__)
        assert (verdict.error_code, verdict.http_status, verdict.account_id) == ("21211", 400, OURS)

    @pytest.mark.parametrize("error", ERRORS)
    def test_opens_what_a_fault_of_ours_is_about_and_nothing_else(self, error):
        opened = next((opens for opens, errors in OPENING.items() if error in errors), None)

        assert lead_of(error()).opens is opened

    def test_judges_an_error_it_does_not_know_by_the_nearest_class_above(self):
        class Storm(Unavailable):
            pass

        assert lead_of(Storm()) is OUTCOMES[TransientError]


class TestRetries:
    @pytest.mark.parametrize("spent", range(7))
    def test_wait_longer_after_each_try(self, spent):
        verdict = lead_on(a_situation(a_row(tries=spent)), Unavailable())

        assert verdict.due_at == NOW + timedelta(seconds=1800 / 127 * 2**spent)

    @pytest.mark.parametrize(("asked", "seconds"), [(1.0, 1800 / 127), (600.0, 600.0)])
    @pytest.mark.parametrize("error", [Unavailable, RateLimited])
    def test_wait_at_least_as_long_as_the_provider_asked(self, error, asked, seconds):
        verdict = lead_on(a_situation(a_row(tries=0)), error(retry_after_seconds=asked))

        assert verdict.due_at == NOW + timedelta(seconds=seconds)

    def test_do_not_wait_for_a_provider_when_another_is_free(self):
        verdict = lead_on(a_situation(has_another=True), Unavailable(retry_after_seconds=600))

        assert verdict.due_at == NOW

    def test_ask_for_another_account_than_all_that_were_tried(self):
        asked = []
        situation = Situation(a_row(), an_account(), NOW, BEGAN, Random(1), lambda tried: asked.append(list(tried)))

        lead_on(situation, Unavailable())

        assert asked == [[OTHER, OURS]]

    @pytest.mark.parametrize(
        ("limits", "due"),
        [
            ({"expires_at": NOW + timedelta(minutes=1)}, timedelta(minutes=1)),
            ({"escalate_at": NOW + timedelta(seconds=90)}, timedelta(seconds=90)),
            ({"escalate_at": NOW + 3 * HOUR}, 2 * HOUR),
        ],
        ids=["when it expires", "when its window ends", "when it expires, before its window ends"],
    )
    def test_are_looked_at_no_later_than(self, limits, due):
        verdict = lead_on(a_situation(a_row(TWO_STEPS, **limits)), RateLimited(retry_after_seconds=86_400))

        assert verdict.due_at == NOW + due


class TestAnUnclearOutcome:
    @pytest.mark.parametrize(
        ("priority", "call_seconds"), [("critical", 5), ("high", 10), ("normal", 10), ("bulk", 10)]
    )
    @pytest.mark.parametrize("delay", [0.0, 15.0])
    def test_is_looked_up_when_the_call_must_be_over_and_the_search_can_show_it(self, priority, call_seconds, delay):
        situation = a_situation(a_row(priority=priority), account=an_account(look_up_delay_seconds=delay))

        verdict = lead_on(situation, OutcomeUnknown())

        assert verdict.due_at == BEGAN + timedelta(seconds=call_seconds + delay)

    def test_waits_for_proof_until_the_receipt_deadline(self):
        verdict = lead_on(a_situation(), OutcomeUnknown())

        assert verdict.receipt_deadline == NOW + timedelta(hours=72)

    def test_escalates_on_time(self):
        row = a_row(TWO_STEPS, escalate_at=NOW + timedelta(seconds=1))

        verdict = lead_on(a_situation(row), OutcomeUnknown())

        assert verdict.escalate_at == verdict.due_at == row.escalate_at

    @pytest.mark.parametrize(("priority", "lane"), [("critical", "control"), ("bulk", "upkeep")])
    def test_is_no_work_for_the_lanes_that_send(self, priority, lane):
        assert lead_on(a_situation(a_row(priority=priority)), OutcomeUnknown()).lane == lane


DELIVERED = [{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}]
ACCEPTED = [{"channel": "sms", "wait_for": "accepted", "window_seconds": 90}, {"channel": "email"}]
WINDOW_ENDS = NOW + timedelta(seconds=90)
DEADLINE = NOW + timedelta(hours=72)
NORMAL_CHECK, ONE_STEP_LATER = NOW + timedelta(seconds=120), NOW + timedelta(seconds=600)


class TestTaken:
    @pytest.mark.parametrize(
        ("abilities", "steps", "state", "reason", "escalates", "due"),
        [
            # The provider reports, or can be asked.
            ((Ability.RECEIPTS,), ONE_STEP, State.SENT, "", None, DEADLINE),
            ((Ability.STATUS,), ONE_STEP, State.SENT, "", None, NORMAL_CHECK),
            ((Ability.RECEIPTS, Ability.STATUS), ONE_STEP, State.SENT, "", None, ONE_STEP_LATER),
            ((Ability.RECEIPTS, Ability.STATUS), DELIVERED, State.SENT, "", WINDOW_ENDS, WINDOW_ENDS),
            ((Ability.RECEIPTS, Ability.STATUS), ACCEPTED, State.SENT, "", None, ONE_STEP_LATER),
            # It proves nothing: the end, unless the next step waits for proof that will never come.
            ((), ONE_STEP, State.UNCONFIRMED, Reason.NOTHING_PROVES_IT, None, None),
            ((), ACCEPTED, State.UNCONFIRMED, Reason.NOTHING_PROVES_IT, None, None),
            ((), DELIVERED, State.SENT, "", WINDOW_ENDS, WINDOW_ENDS),
            (
                (Ability.FIND_BY_REFERENCE, Ability.KEYS),
                ONE_STEP,
                State.UNCONFIRMED,
                Reason.NOTHING_PROVES_IT,
                None,
                None,
            ),
        ],
    )
    def test_waits_for_what_can_still_come(self, abilities, steps, state, reason, escalates, due):
        row = a_row(steps, escalate_at=WINDOW_ENDS if len(steps) > 1 else None)

        verdict = taken(a_situation(row, account=an_account(*abilities)), SendResult("SM1"))

        assert (verdict.state, verdict.reason) == (state, reason)
        assert (verdict.escalate_at, verdict.due_at) == (escalates, due)

    def test_files_the_attempt_with_what_the_provider_said(self):
        verdict = taken(a_situation(account=an_account(Ability.RECEIPTS)), SendResult("SM1", "queued", segments=3))

        assert (verdict.outcome, verdict.account_id) == (Outcome.TAKEN, OURS)
        assert (verdict.provider_message_id, verdict.segments) == ("SM1", 3)
        assert verdict.error == ""

    def test_spends_a_try_and_forgets_who_refused(self):
        verdict = taken(a_situation(), SendResult("SM1"))

        assert (verdict.tries, verdict.tried) == (2, [])

    @pytest.mark.parametrize("waits", [True, False])
    def test_sets_the_receipt_deadline_only_where_it_waits(self, waits):
        account = an_account(*([Ability.RECEIPTS] if waits else []))

        verdict = taken(a_situation(account=account), SendResult("SM1"))

        assert verdict.receipt_deadline == (DEADLINE if waits else None)

    @pytest.mark.parametrize(("priority", "lane"), [("high", "control"), ("normal", "upkeep")])
    def test_is_no_work_for_the_lanes_that_send(self, priority, lane):
        situation = a_situation(a_row(priority=priority), account=an_account(Ability.RECEIPTS))

        assert taken(situation, SendResult("SM1")).lane == lane


class TestSegmentsAndCost:
    @pytest.mark.parametrize(
        ("told", "text", "segments"),
        [
            (None, "Table ready", 1),
            (None, "Table ready. " * 13, 2),
            (3, "Table ready", 3),
            (0, "Table ready", 1),
            (256, "Table ready", 1),  # more than any text makes, or the column holds
        ],
    )
    def test_are_what_the_provider_counts_or_else_what_the_text_makes(self, told, text, segments):
        row = a_row(content=json.dumps({"sms": {"text": text}}))
        account = replace(an_account(), prices={"DE": Decimal("0.075")})

        verdict = taken(a_situation(row, account=account), SendResult("SM1", segments=told))

        assert (verdict.segments, verdict.cost) == (segments, segments * Decimal("0.075"))

    def test_of_an_email_are_one_price_and_no_segments(self):
        row = a_row(channel="email", country="", content=json.dumps({"email": {"subject": "Table", "text": "x" * 500}}))
        account = replace(an_account(), prices={"DE": Decimal("0.075"), "*": Decimal("0.0004")})

        verdict = taken(a_situation(row, account=account), SendResult("1"))

        assert (verdict.segments, verdict.cost) == (None, Decimal("0.0004"))

    def test_are_not_made_up_where_no_price_is_known(self):
        account = replace(an_account(), prices={"FR": Decimal("0.06")})

        assert taken(a_situation(account=account), SendResult("SM1")).cost is None


class TestNextCheck:
    @pytest.mark.parametrize(("abilities", "seconds"), [((), 120), ((Ability.RECEIPTS,), 600)])
    def test_comes_later_where_receipts_do(self, abilities, seconds):
        assert next_check(a_row(), an_account(*abilities), NOW, checks=0) == NOW + timedelta(seconds=seconds)


class TestGiveUp:
    @pytest.mark.parametrize(
        ("steps", "recipient", "state"),
        [
            (TWO_STEPS, {"sms": "+4915112345678", "email": "ana@example.org"}, State.FAILED),
            (TWO_STEPS, {"sms": "+4915112345678"}, State.DEAD_LETTERED),
            (ONE_STEP, {"sms": "+4915112345678", "email": "ana@example.org"}, State.DEAD_LETTERED),
        ],
        ids=["next step", "next step without address", "no next step"],
    )
    def test_leaves_it_to_a_person_only_where_no_step_can_take_over(self, steps, recipient, state):
        verdict = give_up(a_row(steps, recipient_json=json.dumps(recipient)), NOW, Reason.NO_ACCOUNT)

        assert (verdict.state, verdict.reason, verdict.due_at) == (state, Reason.NO_ACCOUNT, None)
        assert verdict.tries == 1

    def test_counts_the_tries_that_led_to_it(self):
        assert give_up(a_row(), NOW, Reason.TRIES_USED_UP, tries=numbers().tries).tries == 8


class TestSendAgain:
    @pytest.mark.parametrize("reason", [Reason.NOT_THERE, Reason.SEND_AGAIN])
    def test_queues_at_once_what_has_tries_left(self, reason):
        verdict = send_again(a_row(state="uncertain", tries=LAST_TRY), NOW, reason)

        assert (verdict.state, verdict.reason, verdict.due_at) == (State.QUEUED, reason, NOW)

    @pytest.mark.parametrize(("steps", "state"), [(ONE_STEP, State.DEAD_LETTERED), (TWO_STEPS, State.FAILED)])
    def test_ends_when_every_try_was_unclear(self, steps, state):
        verdict = send_again(a_row(steps, state="uncertain", tries=numbers().tries), NOW, Reason.SEND_AGAIN)

        assert (verdict.state, verdict.reason) == (state, Reason.TRIES_USED_UP)
