"""Whose vendor the sandbox plays, and how fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SandboxAccount:
    """An account as the vendor knows it.

    `credentials` are named as in the adapter: Twilio `account_sid`, `auth_token` and optionally `api_key_sid`,
    `api_key_secret`; Postmark `server_token`; Resend `api_key` and `webhook_secret` ("whsec_…"). `webhook_url` is where
    Postmark and Resend report, for Postmark with credentials (http://user:password@host/path); None: they report
    nothing. Twilio takes the address from each message.
    """

    slug: str
    provider: str
    credentials: Mapping[str, str] = field(repr=False)
    webhook_url: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, in seconds from the moment a message was taken."""

    sent_after: float = 0.5
    delivered_after: float = 2.0  # or bounced, or undelivered; a complaint comes twice as late
    late_after: float = 120.0  # role "late": behind the window of the seeded route sms-then-email
    slow_answer: float = 3.0
    hang: float = 60.0  # how long a withheld answer keeps its connection open
    look_up_lag: float = 5.0  # how long lists and searches do not show a message (twilio.md, postmark.md)
    unanswered_after: float | None = None
    """When the reports about a message begin whose answer was withheld or dropped.

    None: six look-up lags (30 s), so that a caller who waits for his answer (10 s), then for the lag, asks before he is told.
    """
    webhook_retries: tuple[float, ...] = (1.0, 5.0, 15.0)  # Postmark's and Resend's minutes, as seconds

    @property
    def unanswered(self) -> float:
        return 6 * self.look_up_lag if self.unanswered_after is None else self.unanswered_after


def masked(address: str) -> str:
    """Shorten an address for the log: +49…01, d…@example.org."""
    local, at, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}" if at else f"{address[:3]}…{address[-2:]}"
