"""What becomes of a text that makes too many SMS: parted, shortened or refused."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from wcwidth import iter_graphemes

from notifications.sms.segments import LIMITS, MOST_SEGMENTS, Encoding, encoding_of, measure, split, why

ELLIPSIS: dict[Encoding, str] = {"gsm7": "...", "ucs2": "…"}  # of a text's own encoding: one … would halve its room
WORD_CHARACTERS = 20  # a word that reaches further back is cut


class OnLong(StrEnum):
    SPLIT = "split"  # parted by us
    TRUNCATE = "truncate"  # shortened to what the limit allows
    REFUSE = "refuse"  # sent whole, or not at all


class TooLong(ValueError):
    """Which `field` makes how many `segments`, and the `limit`. `reason` and `accepted` hold no text of the message."""

    def __init__(self, field: str, segments: int, limit: int, reason: str) -> None:
        self.field, self.segments, self.limit = field, segments, limit
        self.reason, self.accepted = reason, f"a text that makes at most {limit} SMS"
        super().__init__(f"{field}: {reason} (accepted: {self.accepted})")


@dataclass(frozen=True, slots=True)
class LongTexts:
    """A policy. `limit` is how many SMS a text may make."""

    on_long: OnLong
    limit: int

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MOST_SEGMENTS:
            raise ValueError(f"a text makes 1 to {MOST_SEGMENTS} SMS, so {self.limit} is no limit")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text to send. `parts` are its SMS where it was split, else the text in one."""

    text: str
    parts: tuple[str, ...]
    is_shortened: bool = False


def fit(text: str, policy: LongTexts, *, field: str = "text") -> Fitted:
    """Make a text obey a policy. Raises TooLong where it may be neither shortened nor sent."""
    if policy.on_long is OnLong.TRUNCATE:
        shortened = truncate(text, policy.limit)
        return Fitted(shortened, (shortened,), is_shortened=shortened != text)
    check(text, policy.limit, field=field)
    return Fitted(text, split(text) if policy.on_long is OnLong.SPLIT else (text,))


def check(text: str, limit: int, *, field: str = "text") -> None:
    """Let a text pass that makes at most `limit` SMS. Raises TooLong."""
    segments = measure(text).segments
    if segments > limit:
        raise TooLong(field, segments, limit, f"makes {segments} SMS{_because(text)}")


def truncate(text: str, limit: int, *, ellipsis: str | None = None) -> str:
    """Shorten a text to at most `limit` SMS, with an ellipsis at its end.

    It is cut between grapheme clusters, and before a word rather than inside it. None as the ellipsis is three dots, or
    one character where the text needs UCS-2 anyway.
    """
    if measure(text).segments <= limit:
        return text
    ends = _ends(text[: limit * LIMITS["gsm7"].alone])
    fitting = bisect_right(ends, limit, key=lambda end: measure(_ended(text[:end], ellipsis)).segments)
    end = ends[fitting - 1] if fitting else 0
    return _ended(text[: _before_word(text, end)], ellipsis)


def _because(text: str) -> str:
    foreign = why(text)
    return f", in UCS-2 because of {foreign[0]}" if foreign else ""


def _ends(text: str) -> list[int]:
    return list(accumulate(map(len, iter_graphemes(text))))


def _ended(text: str, ellipsis: str | None) -> str:
    text = text.rstrip()
    return text + (ELLIPSIS[encoding_of(text)] if ellipsis is None else ellipsis)


def _before_word(text: str, end: int) -> int:
    """Where the word begins that is cut at `end`; `end` itself between words, and inside a very long one."""
    if text[end : end + 1].isspace():
        return end
    reach = range(end, max(0, end - WORD_CHARACTERS), -1)
    return next((place for place in reach if text[place - 1].isspace()), end)
