"""Who plays what: the last two digits of a number or of a device, the local part of an e-mail address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from providers.sandbox.accounts import Pace


class Word(Enum):
    """What becomes of a message, in nobody's vendor's words."""

    SENT = "sent"
    DELIVERED = "delivered"
    UNDELIVERABLE = "undeliverable"
    HARD_BOUNCE = "hard bounce"
    SOFT_BOUNCE = "soft bounce"
    COMPLAINT = "complaint"


class Answering(Enum):
    """How the request that brought the message is answered."""

    AT_ONCE = "at once"
    LATE = "late"
    WITHHELD = "withheld"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Step:
    """At some time the message becomes `word`, and `reports` are called back."""

    after: Callable[[Pace], float]
    word: Word
    reports: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Role:
    """`refusal` names why the vendor never takes the message; `busy_first` is how many 429 come before it does."""

    name: str
    steps: tuple[Step, ...] = ()
    answering: Answering = Answering.AT_ONCE
    refusal: str | None = None
    busy_first: int = 0


def _step(after: Callable[[Pace], float], word: Word) -> Step:
    return Step(after, word, (word,))


def _sent(pace: Pace) -> float:
    return pace.sent_after


def _known(pace: Pace) -> float:
    return pace.delivered_after


def _late(pace: Pace) -> float:
    return pace.late_after


def _complained(pace: Pace) -> float:
    return 2 * pace.delivered_after


SENT = _step(_sent, Word.SENT)
SENT_QUIETLY = Step(_sent, Word.SENT, ())
DELIVERED = _step(_known, Word.DELIVERED)
DELIVERED_LATE = Step(_late, Word.DELIVERED, (Word.DELIVERED, Word.DELIVERED, Word.SENT, Word.SENT))

SMS = {
    "01": Role("delivered", (SENT, DELIVERED)),
    "02": Role("silent"),
    "03": Role("undeliverable", (SENT, _step(_known, Word.UNDELIVERABLE))),
    "04": Role("invalid", refusal="invalid"),
    "05": Role("busy", (SENT, DELIVERED), busy_first=2),
    "06": Role("timeout", (SENT, DELIVERED), Answering.WITHHELD),
    "07": Role("late", (SENT_QUIETLY, DELIVERED_LATE)),
    "08": Role("opted out", refusal="opted out"),
    "09": Role("dropped", (SENT, DELIVERED), Answering.DROPPED),
    "10": Role("slow", (SENT, DELIVERED), Answering.LATE),
}
EMAIL = {
    "delivered": Role("delivered", (SENT, DELIVERED)),
    "silent": Role("silent", (SENT,)),
    "bounce": Role("bounce", (SENT, _step(_known, Word.HARD_BOUNCE))),
    "softbounce": Role("softbounce", (SENT, _step(_known, Word.SOFT_BOUNCE))),
    "complaint": Role("complaint", (SENT, DELIVERED, _step(_complained, Word.COMPLAINT))),
    "invalid": Role("invalid", refusal="invalid"),
    "slow": Role("slow", (SENT, DELIVERED), Answering.LATE),
    "timeout": Role("timeout", (SENT, DELIVERED), Answering.WITHHELD),
}
# What becomes of a push its vendor never tells.
DEVICES = {
    "01": Role("delivered"),
    "03": Role("unregistered", refusal="unregistered"),
    "04": Role("invalid", refusal="invalid"),
    "05": Role("busy", busy_first=2),
    "06": Role("timeout", answering=Answering.WITHHELD),
    "08": Role("another app's", refusal="another app's"),
    "09": Role("dropped", answering=Answering.DROPPED),
    "10": Role("slow", answering=Answering.LATE),
}


def of_number(number: str) -> Role:
    return SMS.get(number[-2:], SMS["01"])


def of_device(token: str) -> Role:
    return DEVICES.get(token[-2:], DEVICES["01"])


def of_address(address: str) -> Role:
    """The role of an e-mail address. What follows a plus in the local part makes another address with the same role."""
    local = address.rpartition("@")[0].lower().partition("+")[0]
    return EMAIL.get(local, EMAIL["delivered"])
