"""The rates of a provider account: what a message takes of them, and how far ahead its places are handed out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from notifications.lanes import Lane
from notifications.models.provider_account import Counted, ProviderAccount
from notifications.numbers import numbers
from notifications.sms.segments import measure
from providers.messages import Channel

QUESTIONS_SHARE = 0.1  # of an account's rate that goes to questions
QUESTION_LATE_SECONDS = 15.0  # their lanes are looked into every ten

# How far ahead places are handed out, as multiples of the shortest. Whoever sees further books first: what is urgent
# finds places where bulk may not look yet. All that lies ahead is lost when workers stop.
SIGHT = {
    Lane.BULK: 1,
    Lane.UPKEEP: 1,
    Lane.NORMAL: 2,
    Lane.CONTROL: 4,
    Lane.HIGH: 4,
    Lane.CRITICAL: 8,
}


def horizon_seconds(lane: Lane) -> float:
    """How far ahead a lane is handed out places."""
    return SIGHT[lane] * numbers().places_seconds


@dataclass(frozen=True, slots=True)
class Rates:
    """How many units in a second, None where nothing limits them: of the account, and of each of its senders."""

    account: float | None
    sender: float | None
    counts: str
    burst: int

    def __str__(self) -> str:
        limits = [f"{self.account:g}/s"] if self.account else []
        limits += [f"{self.sender:g}/s of a sender"] if self.sender else []
        return " and ".join(limits)

    @property
    def seconds(self) -> float | None:
        """What a unit takes of the account's time."""
        return 1 / self.account if self.account else None

    @property
    def sender_seconds(self) -> float | None:
        """What a unit takes of its sender's time."""
        return 1 / self.sender if self.sender else None

    @property
    def question_seconds(self) -> float | None:
        """What a question takes."""
        return 1 / (self.account * QUESTIONS_SHARE) if self.account else None

    def cost(self, channel: str, text: str) -> int:
        """The units of a message with this text."""
        return measure(text).segments if self.counts == Counted.SEGMENTS and channel == Channel.SMS else 1

    def is_good(self, turn_at: datetime, now: datetime) -> bool:
        """Whether a place may still be used: what came late goes at once, which must not be more than a burst."""
        slowest = max(self.seconds or 0.0, self.sender_seconds or 0.0)
        return now - turn_at <= timedelta(seconds=max(self.burst * slowest, numbers().place_late_seconds))

    def is_good_for_question(self, turn_at: datetime, now: datetime) -> bool:
        """The same for a question: no drain waits for its turn, and those that are late together are few."""
        return now - turn_at <= timedelta(seconds=QUESTION_LATE_SECONDS)


def rates_of(row: ProviderAccount) -> Rates | None:
    """An account's rates, None where it has none."""
    if not row.rate and not row.sender_rate:
        return None
    return Rates(row.rate, row.sender_rate, row.rate_counts, row.rate_burst)


def is_turn(turn_at: datetime, now: datetime) -> bool:
    """Whether a turn has come, or comes before a wave could begin."""
    return turn_at - now <= timedelta(seconds=numbers().place_early_seconds)
