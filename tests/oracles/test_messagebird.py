"""MessageBird and Bird: what their SDKs believe and send, beside ours.

Theirs refuse what is older than some minutes. How old a call is does not matter to us: one that is played again is a
repetition of a report on file.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import jwt
import messagebird as rest
import pytest
from hypothesis import given
from hypothesis import strategies as st
from messagebird.error import ValidationError
from messagebird.request_validator import RequestValidator
from standardwebhooks.webhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError as NotStandard

from providers.messages import AttemptRef, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.oracles.sdk import believes, call, caught, changed, often, seconds, seldom, some_text, texts, urls
from tests.providers.samples.base import ATTEMPT, payload
from tests.providers.samples.bird import BIRD_SECRET, bird
from tests.providers.samples.messagebird import MESSAGEBIRD_URL, SIGNING_KEY, messagebird

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a model of theirs has a field that Pydantic has a method for
    from bird import Bird as Client
    from bird import WebhookVerificationError

HEADER = "MessageBird-Signature-JWT"
EVENT = payload("bird/callback_delivered.json").decode()

pytestmark = pytest.mark.filterwarnings("ignore:The HMAC key is")


def token(url: str, body: bytes, algorithm: str = "HS256") -> str:
    now = int(time.time())
    claims = {
        "iss": "MessageBird",
        "nbf": now,
        "exp": now + 60,
        "jti": "1",
        "url_hash": hashlib.sha256(url.encode()).hexdigest(),
    }
    if body:
        claims["payload_hash"] = hashlib.sha256(body).hexdigest()
    return jwt.encode(claims, SIGNING_KEY, algorithm)


def is_right(request: WebhookRequest) -> bool:
    try:
        RequestValidator(SIGNING_KEY).validate_signature(request.headers[HEADER], request.url, request.body)
    except ValidationError:
        return False
    return True


class TestTokenOfMessageBird:
    @often
    @given(urls(), texts, st.sampled_from(["HS256", "HS384", "HS512"]))
    def test_that_theirs_believes_is_believed(self, url, body, algorithm):
        request = WebhookRequest("POST", url, Headers({HEADER: token(url, body.encode(), algorithm)}), body.encode())

        assert is_right(request)
        assert believes(messagebird(), request)

    @often
    @given(urls(), texts, st.data())
    def test_is_never_believed_where_theirs_does_not_believe_it(self, url, body, data):
        proof = token(url, body.encode())
        what = data.draw(st.sampled_from(["url", "body", "token"]))
        if what == "url":
            url += data.draw(st.sampled_from(["x", "&x=1", "?x=1"]))
        elif what == "body":
            body = data.draw(changed(body))
        else:
            proof = data.draw(changed(proof))
        request = WebhookRequest("POST", url, Headers({HEADER: proof}), body.encode())

        assert is_right(request) or not believes(messagebird(), request)

    @pytest.mark.parametrize(("key", "algorithm"), [("another key", "HS256"), (None, "none")])
    def test_by_another_key_or_none_is_believed_by_neither(self, key, algorithm):
        claims = jwt.decode(token(MESSAGEBIRD_URL, b""), options={"verify_signature": False})
        request = WebhookRequest("GET", MESSAGEBIRD_URL, Headers({HEADER: jwt.encode(claims, key, algorithm)}), b"")

        assert not is_right(request)
        assert not believes(messagebird(), request)


class TestSignatureOfBird:
    @staticmethod
    def request(body: str, call_id: str = "msg_1") -> WebhookRequest:
        now = datetime.now(UTC)
        headers = {
            "webhook-id": call_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(BIRD_SECRET).sign(call_id, now, body),
        }
        return WebhookRequest("POST", "https://notify.example.com/webhooks/bird/", Headers(headers), body.encode())

    @staticmethod
    def is_standard(request: WebhookRequest) -> bool:
        try:
            Webhook(BIRD_SECRET).verify(request.body, dict(request.headers), json_parse=False)
        except (NotStandard, ValueError):  # the second of a header or an encoding that is none
            return False
        return True

    def test_that_theirs_believes_is_believed_and_read_the_same(self):
        request = self.request(EVENT)
        event = Client(webhook_secret=BIRD_SECRET).webhooks.unwrap(EVENT, headers=dict(request.headers))

        [ours] = bird().parse_webhook(request)

        assert ours.provider_status == event.root.type
        assert ours.occurred_at == datetime.fromisoformat(json.loads(EVENT)["timestamp"])

    @often
    @given(texts, st.data())
    def test_is_never_believed_where_theirs_does_not_believe_it(self, body, data):
        genuine = self.request(body)
        assert self.is_standard(genuine)
        assert believes(bird(), genuine)

        name = data.draw(st.sampled_from(["body", *genuine.headers]))
        if name == "body":
            request = replace(genuine, body=data.draw(changed(body)).encode())
        else:
            changes = {name: data.draw(changed(genuine.headers[name]))}
            request = replace(genuine, headers=Headers({**genuine.headers, **changes}))

        assert self.is_standard(request) or not believes(bird(), request)

    def test_of_an_older_secret_beside_it_does_not_matter(self):
        genuine = self.request(EVENT)
        both = {"webhook-signature": f"v1a,b2xkZXI= v1,b2xkZXI= {genuine.headers['webhook-signature']}"}
        request = replace(genuine, headers=Headers({**genuine.headers, **both}))
        Client(webhook_secret=BIRD_SECRET).webhooks.unwrap(EVENT, headers=dict(request.headers))

        assert self.is_standard(request)
        assert believes(bird(), request)

    def test_by_another_secret_is_believed_by_neither(self):
        other = Webhook("whsec_b3RoZXIgc2VjcmV0").sign("msg_1", datetime.now(UTC), EVENT)
        request = replace(
            self.request(EVENT), headers=Headers({**self.request(EVENT).headers, "webhook-signature": other})
        )
        with pytest.raises(WebhookVerificationError):
            Client(webhook_secret=BIRD_SECRET).webhooks.unwrap(EVENT, headers=dict(request.headers))

        assert not believes(bird(), request)


class TestSend:
    @seldom
    @given(some_text, seconds)
    def test_asks_messagebird_for_what_its_client_would(self, text, useful):
        extras = {"reference": ATTEMPT.id, "datacoding": "auto", "reportUrl": MESSAGEBIRD_URL, "validity": useful}
        known = {name: value for name, value in extras.items() if value is not None}
        with caught({"id": "e8077d803532c0b5937c639b60216938"}, 201) as made:
            rest.Client("live_EXAMPLE0000000000000").message_create("15005550006", ["14155550100"], text, known)

        theirs = call(made[0], "Authorization", "Accept")
        theirs.fields["recipients"] = theirs.fields["recipients"].split(
            ","
        )  # a list or a text with commas: both are taken
        message = OutgoingMessage(Channel.SMS, "+14155550100", text, useful_seconds=useful)
        assert call(messagebird().send_request(message, ATTEMPT), "Authorization", "Accept") == theirs

    @seldom
    @given(some_text)
    def test_asks_bird_for_what_its_client_would(self, text):
        made: list[httpx.Request] = []
        transport = httpx.MockTransport(lambda request: made.append(request) or httpx.Response(500))
        client = Client(api_key=bird().account.credentials["api_key"], http_client=httpx.Client(transport=transport))
        with pytest.raises(Exception, match="500"):
            client.sms.send(
                to="+14155550100",
                from_="+15005550006",
                text=text,
                category="transactional",
                metadata={"attempt": ATTEMPT.id},
                options={"idempotency_key": "key-7", "max_retries": 0},
            )

        message = OutgoingMessage(Channel.SMS, "+14155550100", text)
        request = bird().send_request(message, AttemptRef(ATTEMPT.id, key="key-7"))
        headers = ("Authorization", "Accept", "Content-Type", "Idempotency-Key")
        assert call(request, *headers) == call(made[0], *headers)
