"""Why an account does not send to a country, and what ends that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from notifications.models import Breaker, Cause
from notifications.numbers import numbers

# What an answer to a call mends. Where messages are taken and do not arrive, or a person has decided, none does.
MENDED_BY_ANY_ANSWER = frozenset({Cause.CALLS})
MENDED_BY_A_YES = MENDED_BY_ANY_ANSWER | {Cause.REGISTRATION}


@dataclass(frozen=True, slots=True)
class Rest:
    """Why nothing is sent to a country through an account, and until when."""

    since: datetime
    until: datetime
    cause: Cause
    detail: str = ""
    is_last_resort: bool = False  # used all the same where no other account can send
    calls_fail: bool = False  # for another cause, and its provider fails calls besides

    @property
    def is_worth_waiting(self) -> bool:
        """Whether it ends without anybody mending a fault of ours: a sender that may not be used, as calls or reports tell."""
        if self.cause is Cause.RECEIPTS:
            return self.is_last_resort or self.calls_fail
        return self.cause is not Cause.REGISTRATION

    @property
    def seconds(self) -> float:
        """How long it rests again when a probe has been taken."""
        return numbers().trouble_seconds if self.cause is Cause.CALLS else numbers().account_open_seconds

    def wait_seconds(self, now: datetime) -> float:
        """How long to leave alone what waits for it: longer the longer it lasts, for a crowd that looks is a load of its own."""
        lasted = (now - self.since).total_seconds()
        return min(max(lasted / 10, numbers().trouble_seconds), numbers().account_open_seconds)


def read_rests() -> dict[int, dict[str, Rest]]:
    """All there are, by account and country."""
    rests: dict[int, dict[str, Rest]] = {}
    for row in Breaker.objects.all():
        is_last_resort = row.is_last_resort and not row.calls_fail
        rest = Rest(row.opened_at, row.opened_until, Cause(row.cause), row.detail, is_last_resort, row.calls_fail)
        rests.setdefault(row.account_id, {})[row.country] = rest
    return rests
