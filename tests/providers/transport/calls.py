"""Calls to make in a test, and what must be true of every answer."""

from __future__ import annotations

from providers.errors import ProviderError
from providers.messages import HttpRequest, HttpResponse
from providers.transport.base import Answer, Call, Transport
from providers.transport.inbox import send_many

DEADLINE = 0.25
SECRET = "%2B4915112345678"  # stands for all that must not reach a log


def post(url: str, body: bytes = b"To=" + SECRET.encode(), headers: dict[str, str] | None = None) -> HttpRequest:
    return HttpRequest("POST", url, {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}, body)


def make(transport: Transport, *requests: HttpRequest, seconds: float = DEADLINE) -> list[Answer]:
    """Make the calls. Returns the answers in the order of the requests."""
    calls = [Call(number, request, seconds) for number, request in enumerate(requests)]
    answers = [answer for batch in send_many(transport, calls) for answer in batch]
    assert [answer.key for answer in sorted(answers, key=lambda answer: answer.key)] == list(range(len(requests)))
    return sorted(answers, key=lambda answer: answer.key)


def failure(transport: Transport, request: HttpRequest, seconds: float = DEADLINE) -> ProviderError:
    """Make a call that fails in time, without a word of what was in it."""
    [answer] = make(transport, request, seconds=seconds)
    assert isinstance(answer.result, ProviderError), answer.result
    assert answer.seconds < seconds + 0.2
    text = repr(answer.result) + str(answer.result)
    assert SECRET not in text
    assert "?" not in text
    assert "127.0.0.1" not in text
    assert ".invalid" not in text
    assert answer.result.__cause__ is answer.result.__context__ is None
    return answer.result


def success(transport: Transport, request: HttpRequest, seconds: float = DEADLINE) -> HttpResponse:
    [answer] = make(transport, request, seconds=seconds)
    assert isinstance(answer.result, HttpResponse), answer.result
    return answer.result
