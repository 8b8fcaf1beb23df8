"""How a contender behaves: it prepares, says "ready", works at a line of input, and says how many are on file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from urllib.parse import urlencode

TO = "+4915112345601"
TEXT = "Your table for four is ready at eight tonight."
HEADERS = {
    "Authorization": "Basic QUMwOnQ=",
    "Accept": "application/json",
    "Content-Type": "application/x-www-form-urlencoded",
}


def play(work: Callable[[], int]) -> None:
    """Work when told to; `work` returns how many are on file. Ends at another line: until then its CPU time can be read."""
    print("ready", flush=True)
    sys.stdin.readline()
    print(work(), flush=True)
    sys.stdin.readline()


def form(attempt: str) -> dict[str, str]:
    """What is posted for one message."""
    callback = f"http://127.0.0.1:9/webhooks/stub/?attempt={attempt}"
    return {"To": TO, "From": "+15005550006", "Body": TEXT, "StatusCallback": callback, "ValidityPeriod": "36000"}


def bodies(name: str, count: int) -> Iterator[bytes]:
    """Forms of so many messages, each attempt with a name of its own, made as cheaply as can be."""
    head, tail = urlencode(form("\0")).split("%00")
    for number in range(count):
        yield f"{head}{name}{number:026x}-1{tail}".encode()
