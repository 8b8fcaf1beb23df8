"""APNs: what aioapns, the client most used from Python, sends beside ours, and what PyJWT believes. There is none of Apple's."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import jwt
import pytest
from aioapns.common import NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol, JWTAuthorizationHeaderProvider
from hypothesis import given
from hypothesis import strategies as st

from providers.messages import OutgoingMessage
from tests.oracles.sdk import changed, often, pushes, seldom
from tests.providers.samples.apns import CREDENTIALS, DEVICE, KEY, PRIVATE_KEY, SAMPLE, apns
from tests.providers.samples.base import ATTEMPT, NOW, payload

VECTOR = json.loads(payload("apns/jwt-vector.json"))
SECONDS_AT_MOST = 28 * 24 * 3600

moments = st.integers(1_600_000_000, 2_200_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


class Wire:
    """Keeps what a client would write."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.data = b""

    def send_headers(self, stream_id: int, headers: list[tuple[str, str]]) -> None:
        self.headers = dict(headers)

    def send_data(self, stream_id: int, data: bytes, end_stream: bool) -> None:
        self.data = data

    def data_to_send(self) -> bytes:
        return b""


async def sent_by_theirs(request: NotificationRequest) -> Wire:
    wire = Wire()
    signer = JWTAuthorizationHeaderProvider(PRIVATE_KEY, CREDENTIALS["key_id"], CREDENTIALS["team_id"])
    client = APNsProductionClientProtocol(CREDENTIALS["topic"], auth_provider=signer)
    client.conn, client.transport = wire, SimpleNamespace(write=lambda _: None, close=lambda: None)
    waiting = asyncio.create_task(client.send_notification(request))
    while not wire.data:
        await asyncio.sleep(0)
    waiting.cancel()
    client.close()
    return wire


def in_their_words(message: OutgoingMessage, apns_id: str) -> NotificationRequest:
    push: Any = message.push
    shown = {"title": push.title, "body": message.text} if push.title else {"body": message.text}
    reports = {"mutable-content": 1} if push.receipt else {}
    data = {**push.data, **({"receipt": push.receipt} if push.receipt else {})}
    return NotificationRequest(
        DEVICE,
        {"aps": {"alert": shown, "sound": "default", **reports}, **data},
        apns_id,
        SECONDS_AT_MOST if message.useful_seconds is None else message.useful_seconds,
        10 if push.is_urgent else 5,
        ATTEMPT.message,
        PushType.ALERT,
    )


def claims(token: str, key: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = jwt.decode(token, key or KEY.public_key(), ["ES256"], options={"verify_iat": False})
    return found


class TestSend:
    @seldom
    @given(pushes(f"apns:{DEVICE}"))
    def test_asks_for_what_their_client_would(self, message):
        ours = apns()
        request = ours.authorize(ours.send_request(message, ATTEMPT), NOW)
        with patch("time.time", NOW.timestamp):
            wire = asyncio.run(sent_by_theirs(in_their_words(message, request.headers["apns-id"])))

        asked = {name: value for name, value in wire.headers.items() if name.startswith("apns-")}
        assert {name: value for name, value in request.headers.items() if name.startswith("apns-")} == asked
        assert request.method == wire.headers[":method"]
        assert request.url == f"https://{wire.headers['host']}{wire.headers[':path']}"
        assert json.loads(request.body) == json.loads(wire.data)
        ours_said, said = (
            text.partition(" ") for text in (request.headers["Authorization"], wire.headers["authorization"])
        )
        assert ours_said[0] == said[0]
        assert claims(ours_said[2]) == claims(said[2])
        assert jwt.get_unverified_header(ours_said[2]) == jwt.get_unverified_header(said[2])


class TestToken:
    @staticmethod
    def at(now: datetime) -> str:
        ours = apns()
        request = ours.authorize(ours.send_request(SAMPLE.message, ATTEMPT), now)
        return request.headers["Authorization"].removeprefix("bearer ")

    @often
    @given(moments)
    def test_is_believed_and_young_enough_for_an_hour(self, now):
        token = self.at(now)

        said = claims(token)
        assert jwt.get_unverified_header(token) == {"alg": "ES256", "kid": CREDENTIALS["key_id"], "typ": "JWT"}
        assert said == {"iss": CREDENTIALS["team_id"], "iat": said["iat"]}
        assert 0 <= now.timestamp() - said["iat"] < 3600

    @often
    @given(st.data())
    def test_that_was_changed_is_not(self, data):
        signed, _, signature = self.at(NOW).rpartition(".")
        altered = data.draw(changed(signed).filter(lambda text: text != signed))

        assert claims(f"{signed}.{signature}")
        with pytest.raises(jwt.InvalidTokenError):
            claims(f"{altered}.{signature}")

    def test_the_vector_is_believed(self):
        assert claims(VECTOR["jwt"], VECTOR["public_key_pem"]) == VECTOR["claims"]
        assert jwt.get_unverified_header(VECTOR["jwt"]) == VECTOR["header"]
