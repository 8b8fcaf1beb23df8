"""FCM: what firebase-admin sends, beside ours, and who believes what our service account says.

It writes `priority` in small letters and leaves out what is empty; both forms are taken.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import firebase_admin
import jwt
import pytest
import requests
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from firebase_admin import credentials, messaging
from google.auth import jwt as google_jwt
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import Request
from google.oauth2 import service_account
from hypothesis import given
from hypothesis import strategies as st

from providers.messages import OutgoingMessage, Token
from tests.oracles.sdk import Call, call, caught, changed, pushes, seldom
from tests.providers.samples.base import ATTEMPT, NOW
from tests.providers.samples.fcm import CREDENTIALS, DEVICE, KEY, fcm

ANSWER = {"name": "projects/example-prod/messages/1", "access_token": "ya29.token", "expires_in": 3599}
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
TOKEN_URL = "https://oauth2.googleapis.com/token"
GOOGLE = {"type": "service_account", "token_uri": TOKEN_URL, **CREDENTIALS}
PUBLIC_KEY = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
SECONDS_AT_MOST = 28 * 24 * 3600

moments = st.integers(1_600_000_000, 2_200_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


@pytest.fixture(scope="module")
def app() -> Any:
    found = firebase_admin.initialize_app(credentials.Certificate(GOOGLE))
    yield found
    firebase_admin.delete_app(found)


def theirs(message: OutgoingMessage, *, data_only: bool) -> messaging.Message:
    """The same push in their words."""
    push, urgent = message.push, message.push.is_urgent
    shown = {"title": push.title, "body": message.text} if push.title else {"body": message.text}
    data = {**push.data, **({"receipt": push.receipt} if push.receipt else {})}
    aps = {
        **({"alert": messaging.ApsAlert(**shown)} if data_only else {}),
        **({"mutable_content": True} if push.receipt else {}),
    }
    seconds = SECONDS_AT_MOST if message.useful_seconds is None else message.useful_seconds
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # `fid` shall take the place of `token`, which is still taken
        return messaging.Message(
            data={**shown, "tag": ATTEMPT.message, **data} if data_only else data,
            notification=None if data_only else messaging.Notification(**shown),
            token=DEVICE,
            android=messaging.AndroidConfig(
                priority="high" if urgent else "normal",
                ttl=timedelta(seconds=seconds),
                notification=None if data_only else messaging.AndroidNotification(tag=ATTEMPT.message),
            ),
            apns=messaging.APNSConfig(
                headers={"apns-collapse-id": ATTEMPT.message, "apns-priority": "10" if urgent else "5"},
                payload=messaging.APNSPayload(messaging.Aps(**aps)) if aps else None,
            ),
            webpush=messaging.WebpushConfig(
                headers={"TTL": str(seconds), "Topic": ATTEMPT.message, "Urgency": "high" if urgent else "normal"}
            ),
        )


def said(fields: dict[str, Any]) -> dict[str, Any]:
    """What fields say, in one spelling."""
    message = {name: value for name, value in fields["message"].items() if value != {}}
    android = {**message["android"], "priority": message["android"]["priority"].upper()}
    return {"message": {**message, "android": android}}


class TestSend:
    @seldom
    @given(pushes(f"fcm:{DEVICE}"), st.booleans())
    def test_asks_for_what_their_client_would(self, app, message, data_only):
        with caught(ANSWER) as made:
            messaging.send(theirs(message, data_only=data_only), app=app)

        ours = fcm(data_only=data_only)
        request = ours.with_token(ours.send_request(message, ATTEMPT), Token("ya29.token", 3599))
        asked = call(made[-1])
        assert (request.method, request.url) == (asked.method, asked.url)
        assert said(json.loads(request.body)) == said(asked.fields)
        assert request.headers["Content-Type"] == made[-1].headers["Content-Type"]
        assert request.headers["Authorization"] == made[-1].headers["authorization"]


def claimed(asked: Call) -> Call:
    """A call with what its assertion says in its place: the order of that is free."""
    assertion = asked.fields["assertion"]
    told = jwt.get_unverified_header(assertion), jwt.decode(assertion, options={"verify_signature": False})
    return replace(asked, fields={**asked.fields, "assertion": told})


class TestAssertion:
    @staticmethod
    def made_at(now: datetime) -> str:
        return str(call(fcm().token_request(now)).fields["assertion"])

    def test_is_asked_for_as_theirs_is(self):
        theirs = service_account.Credentials.from_service_account_info(GOOGLE, scopes=[SCOPE])
        with caught(ANSWER) as made, patch("google.auth._helpers.utcnow", lambda: NOW.replace(tzinfo=None)):
            theirs.refresh(Request(requests.Session()))

        [asked] = [claimed(call(request, "Content-Type")) for request in made]
        assert claimed(call(fcm().token_request(NOW), "Content-Type")) == asked

    @seldom
    @given(moments)
    def test_is_believed(self, now):
        claims = jwt.decode(
            self.made_at(now),
            KEY.public_key(),
            ["RS256"],
            audience=TOKEN_URL,
            issuer=CREDENTIALS["client_email"],
            options={"verify_exp": False, "verify_iat": False},
        )

        assert (claims["iat"], claims["exp"]) == (int(now.timestamp()), int(now.timestamp()) + 3600)

    @seldom
    @given(st.data())
    def test_that_was_changed_is_believed_by_neither(self, data):
        genuine = self.made_at(datetime.now(UTC))
        signed, _, signature = genuine.rpartition(".")
        altered = f"{data.draw(changed(signed).filter(lambda text: text != signed))}.{signature}"

        assert google_jwt.decode(genuine, PUBLIC_KEY, audience=TOKEN_URL)
        with pytest.raises((ValueError, GoogleAuthError)):
            google_jwt.decode(altered, PUBLIC_KEY, audience=TOKEN_URL)
        with pytest.raises(jwt.InvalidTokenError):
            jwt.decode(altered, KEY.public_key(), ["RS256"], audience=TOKEN_URL)
