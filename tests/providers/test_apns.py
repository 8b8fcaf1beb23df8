"""What is odd about APNs: HTTP/2, a token per half hour, an expiry by the clock, reasons by name, 4,096 bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from providers import es256
from providers.apns import Apns
from providers.apns.codes import REASONS
from providers.errors import AuthenticationFailed, InvalidRecipient, OutcomeUnknown, ProviderError, RecipientUnavailable
from providers.messages import Account, HttpRequest, OutgoingMessage, Push
from providers.sandbox.pushing import claims_of, is_signed
from tests.providers.samples.apns import CREDENTIALS, DEVICE, KEY, SAMPLE, apns
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, payload

MESSAGE = SAMPLE.message
HALF_HOUR = timedelta(minutes=30)


def asked(message: OutgoingMessage = MESSAGE, **settings: Any) -> HttpRequest:
    return apns(**settings).send_request(message, ATTEMPT)


def token(adapter: Apns, at: Any = NOW) -> str:
    scheme, _, value = adapter.authorize(asked(), at).headers["Authorization"].partition(" ")
    assert scheme == "bearer"
    return value


def reason_file(name: str) -> bytes:
    return payload(f"apns/{name}").partition(b"\n\n")[2]


class TestSend:
    def test_is_what_apple_documents(self) -> None:
        request = asked()

        assert (request.method, request.url) == ("POST", f"https://api.push.apple.com/3/device/{DEVICE}")
        assert request.needs_http2
        assert json.loads(request.body) == {
            "aps": {
                "alert": {"title": "Order shipped", "body": "Order 10482 is on its way"},
                "sound": "default",
                "mutable-content": 1,
            },
            "order": "10482",
            "receipt": "cmVjZWlwdA",
        }
        assert str(UUID(request.headers["apns-id"])) == request.headers["apns-id"]
        assert {name: request.headers[name] for name in request.headers if name.startswith("apns-")} == {
            "apns-id": request.headers["apns-id"],
            "apns-topic": "com.example.shop",
            "apns-push-type": "alert",
            "apns-priority": "10",
            "apns-collapse-id": ATTEMPT.message,
        }

    def test_can_wait_if_it_is_not_urgent_and_asks_for_no_receipt(self) -> None:
        request = asked(replace(MESSAGE, push=Push()))

        assert request.headers["apns-priority"] == "5"
        assert json.loads(request.body) == {"aps": {"alert": {"body": MESSAGE.text}, "sound": "default"}}

    @pytest.mark.parametrize(
        ("environment", "host"),
        [("production", "api.push.apple.com"), ("sandbox", "api.sandbox.push.apple.com")],
    )
    def test_goes_where_the_app_is_known(self, environment: str, host: str) -> None:
        assert asked(environment=environment).url.startswith(f"https://{host}/")

    def test_needs_no_http2_where_there_is_no_tls(self) -> None:
        account = replace(apns().account, base_url="http://127.0.0.1:8025/apns")

        assert not Apns(account).send_request(MESSAGE, ATTEMPT).needs_http2

    def test_a_device_stays_one_segment(self) -> None:
        assert asked(replace(MESSAGE, to="apns:../x?y#z")).url.endswith("/3/device/..%2Fx%3Fy%23z")

    def test_ends_when_it_is_useful_no_more(self) -> None:
        leaving = apns().authorize(asked(), NOW)

        assert leaving.headers["apns-expiration"] == str(int(NOW.timestamp()) + 3600)
        assert "X-Useful-Seconds" not in leaving.headers
        assert leaving.parts == asked().parts

    def test_push_4096_bytes_not_characters(self) -> None:
        given = json.loads(case("push-4096-bytes-not-characters/input.json"))
        sizes = {}

        for body in given["bodies"]:
            sent = asked(replace(MESSAGE, text=body, push=Push(given["title"]))).body
            sizes[len(body)] = len(sent) - len(b',"sound":"default"')
            assert len(sent) <= 4096
            assert b"\\u" not in sent
            if len(body) < 2100:
                assert json.loads(sent)["aps"]["alert"]["body"] == body

        told = {int(length): size["utf8_bytes"] for length, size in given["sizes"].items()}
        assert {length: sizes[length] for length in (640, 1900, 2010)} == {
            length: told[length] for length in (640, 1900, 2010)
        }
        assert json.loads(sent)["aps"]["alert"]["body"].endswith("ж…")


class TestToken:
    def test_says_who_signs_and_since_when(self) -> None:
        header, claims = claims_of(token(apns()))

        assert header == {"alg": "ES256", "typ": "JWT", "kid": CREDENTIALS["key_id"]}
        assert claims == {"iss": CREDENTIALS["team_id"], "iat": int(NOW.timestamp())}
        assert is_signed(token(apns()), KEY.public_key())

    def test_is_the_same_in_all_processes_for_half_an_hour(self) -> None:
        adapter = apns()

        first = {token(one, NOW + later) for one in (adapter, apns()) for later in (timedelta(), HALF_HOUR * 0.99)}
        [only] = first

        assert token(adapter, NOW + HALF_HOUR) != only

    def test_is_read_as_the_vector_is(self) -> None:
        vector = json.loads(payload("apns/jwt-vector.json"))
        key: Any = load_pem_public_key(vector["public_key_pem"].encode())

        assert is_signed(vector["jwt"], key)
        assert claims_of(vector["jwt"]) == (vector["header"], vector["claims"])

    @pytest.mark.parametrize("key", ["", "x", "-----BEGIN PRIVATE KEY-----"])
    def test_cannot_be_made_with_what_is_no_key(self, key: str) -> None:
        with pytest.raises(AuthenticationFailed):
            token(Apns(Account("apns", {**CREDENTIALS, "private_key": key})))

    def test_cannot_be_made_with_a_key_of_another_kind(self) -> None:
        other = ec.generate_private_key(ec.SECP384R1())
        with pytest.raises(AuthenticationFailed):
            es256.key_of_pem(_pem(other))


def _pem(key: Any) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    text: str = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return text


class TestAnswer:
    def test_names_the_push(self) -> None:
        taken = apns().send_result(answer(200, apns_id="01938009-f3c7-7a2b-8c41-5d2e9b7a6f10"))

        assert taken.provider_message_id == "01938009-f3c7-7a2b-8c41-5d2e9b7a6f10"

    @pytest.mark.parametrize(
        ("recorded", "status", "kind", "suppress", "is_doubtful"),
        [
            ("response-400-baddevicetoken.txt", 400, "InvalidRecipient", "invalid", True),
            ("response-403-expiredprovidertoken.txt", 403, "AuthenticationFailed", None, False),
            ("response-410-unregistered.txt", 410, "RecipientUnavailable", "unregistered", False),
            ("response-429-toomanyrequests.txt", 429, "RateLimited", None, False),
            ("response-503-shutdown.txt", 503, "Unavailable", None, False),
        ],
    )
    def test_recorded_means_this(
        self, recorded: str, status: int, kind: str, suppress: str | None, is_doubtful: bool
    ) -> None:
        with pytest.raises(ProviderError) as caught:
            apns().send_result(answer(status, reason_file(recorded)))

        error = caught.value
        assert (type(error).__name__, error.suppress, error.is_doubtful) == (kind, suppress, is_doubtful)

    def test_only_what_is_said_of_a_device_gives_it_up(self) -> None:
        given_up = {reason: (meaning.kind, meaning.suppress) for reason, meaning in REASONS.items() if meaning.suppress}

        assert given_up == {
            "BadDeviceToken": (InvalidRecipient, "invalid"),
            "DeviceTokenNotForTopic": (InvalidRecipient, "wrong_topic"),
            "Unregistered": (RecipientUnavailable, "unregistered"),
            "ExpiredToken": (RecipientUnavailable, "unregistered"),
        }

    def test_what_may_be_our_own_fault_says_where_to_look(self) -> None:
        doubtful = {reason: meaning.advice for reason, meaning in REASONS.items() if meaning.is_doubtful}

        assert "environment" in doubtful.pop("BadDeviceToken")
        assert "topic" in doubtful.pop("DeviceTokenNotForTopic")
        assert doubtful == {}

    @pytest.mark.parametrize("reason", REASONS)
    def test_of_a_server_that_fails_is_no_refusal(self, reason: str) -> None:
        with pytest.raises(ProviderError) as caught:
            apns().send_result(answer(500, {"reason": reason}))

        assert isinstance(caught.value, OutcomeUnknown) or type(caught.value).__name__ == "Unavailable"
        assert caught.value.suppress is None
