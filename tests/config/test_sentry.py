from __future__ import annotations

from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.transport import Transport

from config import sentry
from providers.messages import HttpRequest
from providers.transport.base import Call
from providers.transport.inbox import send_many
from providers.transport.requests_ import RequestsTransport
from tests.providers.transport.misbehaving import answer, serve


class Kept(Transport):
    """Keeps what would have been sent."""

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.sent: list[bytes] = []

    def capture_envelope(self, envelope: Any) -> None:
        self.sent.append(envelope.serialize())


@pytest.fixture
def kept():
    transport = Kept()
    sentry.start("https://key@sentry.example/1", transport=transport, traces_sample_rate=1.0)
    yield transport
    sentry_sdk.get_global_scope().set_client(None)


class TestWhatSentryHears:
    def test_names_the_exception_and_no_address(self, kept):
        recipient = "+4915112345678"
        try:
            raise LookupError(f"cannot send to {recipient} or ana@example.org")
        except LookupError as error:
            sentry_sdk.capture_exception(error)

        (sent,) = kept.sent
        assert b"LookupError" in sent
        assert b"15112345678" not in sent
        assert b"ana@example.org" not in sent

    def test_times_requests_without_their_addresses_and_what_pages_are_made_from(self, kept):
        with (
            sentry_sdk.start_transaction(name="GET /?q=%2B4915112345678"),
            sentry_sdk.start_span(op="http.client", name="GET https://api.example/?To=%2B4915112345678") as span,
        ):
            span.set_data("context.notification", "Your code is 4711")
            span.set_data("http.query", "To=%2B4915112345678")

        (sent,) = kept.sent
        assert b"http.query" in sent
        assert b"15112345678" not in sent
        assert b"4711" not in sent

    def test_adds_no_header_to_calls_to_providers(self, kept):
        transport = RequestsTransport(1)
        with serve(answer(b"{}")) as server, sentry_sdk.start_transaction(name="drain"):
            list(send_many(transport, [Call("only", HttpRequest("POST", server.url(), {}, b"x"), 2)]))
        transport.close()

        head = server.requests[0].partition(b"\r\n\r\n")[0].lower()
        assert b"sentry-trace" not in head
        assert b"baggage" not in head
