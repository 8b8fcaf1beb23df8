from __future__ import annotations

from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.transport import Transport

from config import sentry


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
    sentry.start("https://key@sentry.example/1", transport=transport)
    yield transport
    sentry_sdk.init()


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
