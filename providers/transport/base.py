"""What a transport owes the product: calls in, answers out, and the truth about whether anything was sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from providers.errors import NotStarted, OutcomeUnknown, Unavailable
from providers.messages import HttpRequest, HttpResponse

ANSWER_LIMIT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Call:
    """One request to make. `key` comes back with the answer.

    `deadline_seconds` bounds the whole call, name look-up to last byte. `start_by` is the monotonic time after which it is
    too late to begin; None means never.
    """

    key: Any
    request: HttpRequest
    deadline_seconds: float
    start_by: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call.

    `result` is a complete answer, or: NotStarted, nothing was done; Unavailable, no byte of the request left;
    OutcomeUnknown, bytes left and no complete answer came back.
    """

    key: Any
    result: HttpResponse | NotStarted | Unavailable | OutcomeUnknown
    seconds: float


class Transport(Protocol):
    """`concurrency` calls at once, each on a kept-alive connection where there is one."""

    concurrency: int

    def send_many(
        self, calls: Sequence[Call], *, flush_seconds: float = 0.1, flush_count: int = 200
    ) -> Iterator[list[Answer]]:
        """Make all calls, from now on; hand over answers as they come, at least every `flush_seconds` or `flush_count`.

        The calls of several batches may be under way at once. Every call is answered exactly once. Lists are never empty.
        Never raises for what the network does.
        """
        ...

    def close(self) -> None:
        """Close all connections."""
        ...
