"""What a transport owes the product: calls in, answers out, and the truth about whether anything was sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from providers.errors import AddressForbidden, NotStarted, OutcomeUnknown, Unavailable
from providers.messages import HttpResponse, MailResponse

ANSWER_LIMIT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Call:
    """One request to make. `key` comes back with the answer.

    `deadline_seconds` bounds the whole call, name look-up to last byte. `start_by` is the monotonic time after which it is
    too late to begin; None means never.
    """

    key: Any
    request: Any  # HttpRequest, or MailRequest where mails are carried
    deadline_seconds: float
    start_by: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call.

    `result` is a complete answer, or: NotStarted, nothing was done; Unavailable, no byte of the request left, or of a mail
    not the end; AddressForbidden, none left and none may; OutcomeUnknown, it left and no complete answer came back.
    To a foreign request an answer is complete with its first `FOREIGN_ANSWER_BYTES`.
    """

    key: Any
    result: HttpResponse | MailResponse | NotStarted | Unavailable | AddressForbidden | OutcomeUnknown
    seconds: float


class Receiver(Protocol):
    """Where answers go: an `Inbox`."""

    is_abandoned: bool

    def add(self, answer: Answer) -> None: ...


class Transport(Protocol):
    """`concurrency` calls at once, each on a kept-alive connection where there is one."""

    concurrency: int

    def send(self, calls: Sequence[Call], inbox: Receiver) -> None:
        """Make all calls, from now on, beside those that are under way already; every one is answered exactly once.

        Never raises for what the network does. What has not begun when the inbox is abandoned is not begun.
        """
        ...

    def close(self) -> None:
        """Close all connections."""
        ...
