"""Our attempt id in the address where reports arrive, for vendors that take such an address with each message."""

from __future__ import annotations

from functools import cache
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from providers import reading
from providers.messages import AttemptRef


def with_attempt(callback_url: str, attempt: AttemptRef) -> str:
    before, after = _around_attempt(callback_url)
    return f"{before}{attempt.id}{after}"


@cache
def _around_attempt(callback_url: str) -> tuple[str, str]:
    parts = urlsplit(callback_url)
    query = f"{parts.query}&attempt=" if parts.query else "attempt="
    return urlunsplit(parts._replace(query=query, fragment="")), f"#{parts.fragment}" if parts.fragment else ""


def parameters(url: str) -> dict[str, str]:
    """Read a URL's query; of a repeated name the last value counts, and ours is the last."""
    return dict(parse_qsl(query_of(url), keep_blank_values=True))


def query_of(url: str) -> str:
    return url.partition("#")[0].partition("?")[2]


def attempt_of(url: str) -> str | None:
    return reading.identifier(parameters(url).get("attempt"))
