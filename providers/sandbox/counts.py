"""The books cast up: requests on the wire, unique messages, duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from providers.sandbox.book import Book, Message


@dataclass(frozen=True)
class Duplicate:
    """The same words to the same recipient, taken more than once."""

    to: str
    text: str
    attempts: tuple[str | None, ...]  # in the order in which they were taken
    accounts: tuple[str, ...]  # for each of them


@dataclass(frozen=True)
class AccountCounts:
    requests: Mapping[str, int]  # by kind: send, find, status, other
    answers: Mapping[str, int]  # by HTTP status, "dropped", "withheld"
    callbacks: Mapping[str, int]  # every try, by HTTP status, "not connected", "no answer"; "silenced"
    taken: int
    unique_attempts: int
    unique_contents: int  # by recipient and words
    duplicates: tuple[Duplicate, ...]


@dataclass(frozen=True)
class Counts:
    """`duplicates` are over all accounts: what one took and another took again counts too."""

    accounts: Mapping[str, AccountCounts]
    taken: int
    unique_attempts: int
    unique_contents: int
    duplicates: tuple[Duplicate, ...]
    unknown_requests: int = 0  # nobody's: wrong path, wrong credentials
    pending_callbacks: int = 0


def cast_up(book: Book, *, pending_callbacks: int) -> Counts:
    """Count what is in the books. Takes about a second per 100,000 messages, and locks nobody out meanwhile."""
    accounts = {}
    everything: list[tuple[str, Message]] = []
    for ledger in book.ledgers.values():
        taken = [(ledger.slug, message) for message in ledger.all()]
        everything += taken
        accounts[ledger.slug] = AccountCounts(
            dict(ledger.requests), dict(ledger.answers), dict(ledger.callbacks), *_cast_up(taken)
        )
    return Counts(accounts, *_cast_up(everything), book.unknown_requests, pending_callbacks)


def _cast_up(taken: Sequence[tuple[str, Message]]) -> tuple[int, int, int, tuple[Duplicate, ...]]:
    contents = Counter((message.to, message.text) for _, message in taken)
    again: dict[tuple[str, str], list[tuple[str, Message]]] = {key: [] for key, n in contents.items() if n > 1}
    for slug, message in taken:
        if (same := again.get((message.to, message.text))) is not None:
            same.append((slug, message))
    duplicates = tuple(
        Duplicate(to, text, tuple(message.attempt for _, message in same), tuple(slug for slug, _ in same))
        for (to, text), same in again.items()
    )
    attempts = {message.attempt for _, message in taken if message.attempt is not None}
    return len(taken), len(attempts), len(contents), duplicates
