"""Events posted to endpoints: what the library of Standard Webhooks signs and believes, beside ours.

Its `sign` replaces the zone of a time instead of converting it, so that it is given UTC.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from providers.messages import Channel, HttpRequest, OutgoingMessage
from providers.webhook import signature
from tests.oracles.sdk import often, some_text, values
from tests.providers.samples.base import ATTEMPT, payload
from tests.providers.samples.webhook import SECRET, webhook

PAGE = (Path(__file__).parents[2] / "docs" / "receiving-webhooks.md").read_text()
OTHER_SECRET = "whsec_" + base64.b64encode(b"o" * 24).decode()
NAMES = ("webhook-id", "webhook-timestamp", "webhook-signature")

bodies = st.dictionaries(some_text, values, max_size=4).map(lambda data: json.dumps(data, ensure_ascii=False))
secrets = st.binary(min_size=24, max_size=64).map(lambda key: "whsec_" + base64.b64encode(key).decode())


def call(text: str, secret: str = SECRET, now: datetime | None = None, **credentials: str) -> HttpRequest:
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    adapter = webhook(credentials={"secret": secret, **credentials}, previous_secret_until=until)
    message = OutgoingMessage(Channel.WEBHOOK, "orders", text)
    return adapter.authorize(adapter.send_request(message, ATTEMPT), now or datetime.now(UTC))


def theirs(secret: str, headers: dict[str, str], body: bytes) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except (WebhookVerificationError, ValueError, binascii.Error):
        return False
    return True


def of_the_page(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """What the code that we tell receivers to paste believes."""
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "receiving-webhooks.md", "exec"), names)
    try:
        names["event_of"](secret, headers, body)
    except ValueError:
        return False
    return True


BELIEVERS = pytest.mark.parametrize("believes", [theirs, of_the_page])


class TestSigning:
    @often
    @given(bodies, secrets, st.integers(10**9, 7 * 10**9))
    def test_is_theirs(self, body: str, secret: str, moment: int) -> None:
        now = datetime.fromtimestamp(moment, UTC)
        request = call(body, secret, now)

        assert request.headers["webhook-signature"] == Webhook(secret).sign(request.headers["webhook-id"], now, body)
        assert request.headers["webhook-timestamp"] == str(int(now.timestamp()))

    @often
    @given(bodies, secrets)
    @BELIEVERS
    def test_is_believed(self, believes: Any, body: str, secret: str) -> None:
        request = call(body, secret)

        assert believes(secret, dict(request.headers), request.body)

    @BELIEVERS
    def test_of_a_rotation_is_believed_by_either_secret(self, believes: Any) -> None:
        request = call("{}", previous_secret=OTHER_SECRET)

        assert believes(SECRET, dict(request.headers), request.body)
        assert believes(OTHER_SECRET, dict(request.headers), request.body)

    def test_a_new_secret_is_one_of_theirs(self) -> None:
        secret = signature.new_secret()
        request = call("{}", secret)

        assert theirs(secret, dict(request.headers), request.body)


class TestBelieving:
    @often
    @given(st.sampled_from(NAMES), st.text(max_size=80), bodies)
    @BELIEVERS
    def test_nothing_that_was_changed(self, believes: Any, name: str, value: str, body: str) -> None:
        request = call(body)
        assume(value != request.headers[name] and request.headers["webhook-signature"] not in value.split(" "))

        assert not believes(SECRET, {**request.headers, name: value}, request.body)
        assert not believes(SECRET, dict(request.headers), request.body + b" ")
        assert not believes(OTHER_SECRET, dict(request.headers), request.body)

    @pytest.mark.parametrize("minutes", [-6, 6])
    @BELIEVERS
    def test_nothing_old(self, believes: Any, minutes: int) -> None:
        request = call("{}", now=datetime.now(UTC) + timedelta(minutes=minutes))

        assert not believes(SECRET, dict(request.headers), request.body)


def test_the_vector_is_theirs() -> None:
    vector = json.loads(payload("webhook/standard-webhooks-vector.json"))
    headers, body = vector["headers"], vector["raw_body"]
    now = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)

    assert Webhook(vector["secret"]).sign(headers["webhook-id"], now, body) == headers["webhook-signature"]
