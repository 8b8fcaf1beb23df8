"""What can be made to go wrong at one account, while the sandbox runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

OUTAGES = ("status_503", "status_500", "drop")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A definite no in the vendor's words: HTTP status, the vendor's code, its text (None: one of the sandbox's own)."""

    status: int
    code: int
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Faults:
    """An account's faults; as constructed, there are none.

    Faults that refuse come first: nothing is taken under `outage`, `rate_limit` and `refuse`.
    """

    outage: str | None = None
    """Every request: "status_503" and "status_500" answer with an HTML page, "drop" closes the connection without an answer."""
    outage_to: str | None = None
    """The outage is only of sends to numbers that begin so, e.g. "+49"."""
    rate_limit: int = 0
    """Every n-th request is answered 429; 1: all, 0: none."""
    retry_after_seconds: int | None = None
    """The Retry-After header that a 429 carries; None: no header."""
    refuse: Refusal | None = None
    """Sends are refused so; a 401 or 403 refuses look-ups too."""
    latency_seconds: float = 0.0
    """Every answer comes so much later; the message was taken before."""
    drip: bool = False
    """Every answer comes a byte at a time, five a second, so that no read ever times out; the message was taken before."""
    accept_then_drop: bool = False
    """Messages are taken, and their connection closed without an answer."""
    look_up_lag_seconds: float | None = None
    """Instead of the pace's `look_up_lag`."""
    look_up_blind: bool = False
    """Lists, searches and single look-ups say that the message is not there."""
    silent: bool = False
    """No callbacks. Those that fall due meanwhile are lost, as with the vendor."""
    lost_to: str | None = None
    """Messages to numbers that begin so, e.g. "+49", are taken, and nothing becomes of them: they go nowhere, and say nothing."""
    callback_repeat: int = 1
    """How often each callback is sent."""
    callback_shuffle: bool = False
    """Messages taken from now on report in another order than things happened, all at the end."""

    def changed(self, changes: Mapping[str, Any]) -> Faults:
        """The same with some faults changed; None takes one back. Raises ValueError for what makes no sense."""
        return replace(self, **{name: _checked(name, value) for name, value in changes.items()})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


NONE = Faults()
FLAGS = {"drip", "accept_then_drop", "look_up_blind", "silent", "callback_shuffle"}
BEGINNINGS = {"outage_to", "lost_to"}
WHOLE_NUMBERS = {"rate_limit", "retry_after_seconds", "callback_repeat"}


def _checked(name: str, value: Any) -> Any:
    if name not in {field.name for field in fields(Faults)}:
        raise ValueError(f"there is no fault {name!r}")
    if value is None:
        return getattr(NONE, name)
    if name == "outage":
        if value not in OUTAGES:
            raise ValueError(f"outage is one of {', '.join(OUTAGES)}, or null")
        return value
    if name in BEGINNINGS:
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name} is the beginning of a number, or null")
        return value
    if name == "refuse":
        return value if isinstance(value, Refusal) else _refusal(value)
    if name in FLAGS:
        fits = isinstance(value, bool)
    else:
        wanted = int if name in WHOLE_NUMBERS else int | float
        fits = isinstance(value, wanted) and not isinstance(value, bool) and value >= 0
    if not fits:
        raise ValueError(f"{name} cannot be {value!r}")
    return value


def _refusal(value: Any) -> Refusal:
    try:
        refusal = Refusal(**value)
    except TypeError as error:
        raise ValueError('refuse is {"status": …, "code": …, "message": …}, or null') from error
    if not (isinstance(refusal.status, int) and isinstance(refusal.code, int) and 400 <= refusal.status <= 599):
        raise ValueError("refuse needs a status of 400 to 599 and a code, both numbers")
    return refusal
