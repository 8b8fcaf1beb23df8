"""What is odd about Web Push: whom it calls is told by a browser, and what it says only that browser can read."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from providers import es256
from providers.errors import AuthenticationFailed, InvalidRecipient, OutcomeUnknown, ProviderError
from providers.messages import Account, AttemptRef, Push
from providers.sandbox import browser
from providers.sandbox.pushing import claims_of, is_signed
from providers.webpush import WebPush
from providers.webpush.encryption import PLAIN_BYTES, Chance, chance_for, public_bytes, sealed
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, http_file, payload
from tests.providers.samples.webpush import CREDENTIALS, ENDPOINT, MESSAGE, VAPID_KEY, device, webpush

VECTOR = {
    name: text if name == "plaintext" else es256.from_base64url(text)
    for name, text in json.loads(payload("webpush/rfc8291-encryption-vector.json")).items()
    if name not in ("source", "verified_with")
}
AGAIN = AttemptRef(f"{ATTEMPT.message}-2")


def opened(message: Any = MESSAGE) -> dict[str, Any]:
    return browser.shown(webpush().send_request(message, ATTEMPT).body)


def proof(request: Any) -> tuple[str, str]:
    scheme, _, parts = request.headers["Authorization"].partition(" ")
    assert scheme == "vapid"
    token, key = parts.split(",")
    return token.removeprefix("t="), key.removeprefix("k=")


class TestEncryption:
    def test_is_that_of_the_rfc_byte_for_byte(self) -> None:
        key = ec.derive_private_key(int.from_bytes(VECTOR["as_private"]), ec.SECP256R1())

        body = sealed(
            VECTOR["plaintext"].encode(),
            browser=VECTOR["ua_public"],
            auth=VECTOR["auth_secret"],
            chance=Chance(VECTOR["salt"], key),
        )

        assert body == VECTOR["body"]
        assert public_bytes(key) == VECTOR["as_public"]

    def test_is_opened_by_the_browser(self) -> None:
        assert browser.opened(VECTOR["body"]) == VECTOR["plaintext"].encode()

    @pytest.mark.parametrize("place", [0, 30, 90, -1])
    def test_a_changed_body_is_not(self, place: int) -> None:
        body = bytearray(VECTOR["body"])
        body[place] ^= 1

        with pytest.raises(ValueError, match="sealed for somebody else"):
            browser.opened(bytes(body))

    def test_the_longest_text_fills_a_body(self) -> None:
        chance = chance_for(b"secret", b"name", b"")

        body = sealed(b"x" * PLAIN_BYTES, browser=VECTOR["ua_public"], auth=VECTOR["auth_secret"], chance=chance)

        assert len(body) == 4096

    def test_no_two_pushes_share_their_chance(self) -> None:
        base = (b"secret", b"name", b"text")
        others = [(b"another", b"name", b"text"), (b"secret", b"another", b"text"), (b"secret", b"name", b"another")]

        drawn = [chance_for(*parts) for parts in (base, *others)]

        assert len({chance.salt for chance in drawn}) == len({public_bytes(chance.key) for chance in drawn}) == 4
        assert chance_for(*base).salt == drawn[0].salt
        assert public_bytes(chance_for(*base).key) == public_bytes(drawn[0].key)


class TestSend:
    def test_is_what_the_rfcs_demand(self) -> None:
        request = webpush().send_request(MESSAGE, ATTEMPT)

        assert (request.method, request.url, request.is_foreign) == ("POST", ENDPOINT, True)
        assert request.headers == {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": "3600",
            "Topic": ATTEMPT.message,
            "Urgency": "high",
        }
        assert len(request.headers["Topic"]) <= 32

    def test_says_to_the_service_worker_what_to_show(self) -> None:
        assert opened() == {
            "title": "Order shipped",
            "body": "Order 10482 is on its way",
            "tag": ATTEMPT.message,
            "data": {"order": "10482"},
            "receipt": "cmVjZWlwdA",
        }

    def test_without_title_and_receipt_says_less(self) -> None:
        assert opened(replace(MESSAGE, push=Push())) == {"body": MESSAGE.text, "tag": ATTEMPT.message, "data": {}}

    def test_has_the_same_bytes_when_it_is_repeated_and_others_when_it_is_not(self) -> None:
        first, same = (webpush().send_request(MESSAGE, ATTEMPT) for _ in range(2))
        later = webpush().send_request(MESSAGE, AGAIN)

        assert first == same
        assert first.body[:86] != later.body[:86]
        assert browser.opened(first.body) == browser.opened(later.body)

    def test_push_4096_bytes_not_characters_fit_after_sealing(self) -> None:
        told = json.loads(case("push-4096-bytes-not-characters/input.json"))

        for body in (*told["bodies"], "😀" * 3000):
            message = replace(MESSAGE, text=body, push=Push(told["title"]))
            request = webpush().send_request(message, ATTEMPT)
            assert len(request.body) <= 4096
        assert opened(message)["body"].endswith("😀…")

    @given(text=st.text(min_size=1))
    def test_any_text_arrives(self, text: str) -> None:
        assert opened(replace(MESSAGE, text=text))["body"] == text.replace("\0", "�")

    def test_a_base_url_stands_for_all_services(self) -> None:
        account = replace(webpush().account, base_url="http://127.0.0.1:8025/webpush/")

        request = WebPush(account).send_request(MESSAGE, ATTEMPT)

        assert request.url == "http://127.0.0.1:8025/webpush/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJU01"
        assert not request.is_foreign

    @pytest.mark.parametrize(
        "to",
        ["webpush:x", "webpush:{}", device(auth="AAAA"), device(p256dh="AAAA"), device(p256dh="é"), device(auth="!")],
    )
    def test_refuses_what_is_no_subscription(self, to: str) -> None:
        with pytest.raises(InvalidRecipient):
            webpush().send_request(replace(MESSAGE, to=to), ATTEMPT)


class TestProof:
    def test_holds_for_this_service_and_some_hours(self) -> None:
        adapter = webpush()

        token, key = proof(adapter.authorize(adapter.send_request(MESSAGE, ATTEMPT), NOW))

        header, claims = claims_of(token)
        assert header == {"alg": "ES256", "typ": "JWT"}
        assert claims["aud"] == "https://push.example.net"
        assert claims["sub"] == "mailto:ops@example.com"
        assert 0 < claims["exp"] - NOW.timestamp() <= 24 * 3600
        assert key == json.loads(payload("webpush/vapid-vector.json"))["application_server_key_base64url"]
        assert is_signed(token, es256.key_of_scalar(VAPID_KEY).public_key())

    def test_is_another_for_another_service(self) -> None:
        adapter = webpush()
        elsewhere = replace(MESSAGE, to=device("https://other.example.net:8443/push/abc"))

        leaving = adapter.authorize(adapter.send_request(elsewhere, ATTEMPT), NOW)

        assert claims_of(proof(leaving)[0])[1]["aud"] == "https://other.example.net:8443"

    def test_is_the_same_for_an_hour(self) -> None:
        request = webpush().send_request(MESSAGE, ATTEMPT)

        first, soon, later = (webpush().authorize(request, NOW + timedelta(minutes=wait)) for wait in (0, 59, 60))

        assert first == soon != later
        assert first.parts == request.parts

    def test_the_vector_is_read(self) -> None:
        vector = json.loads(payload("webpush/vapid-vector.json"))
        token = vector["authorization_header"].removeprefix("vapid t=").partition(",")[0]

        assert is_signed(token, es256.key_of_scalar(vector["private_key_base64url_for_tests_only"]).public_key())
        assert claims_of(token)[1] == vector["claims"]

    @pytest.mark.parametrize("key", ["", "!", "A" * 60])
    def test_cannot_be_made_with_what_is_no_key(self, key: str) -> None:
        with pytest.raises(AuthenticationFailed):
            WebPush(Account("webpush", {**CREDENTIALS, "vapid_private_key": key})).send_request(MESSAGE, ATTEMPT)


class TestAnswer:
    def test_201_is_a_yes_and_its_location_is_nobodys_business(self) -> None:
        taken = webpush().send_result(http_file("webpush/response-201.http", payload))

        assert (taken.provider_message_id, taken.provider_status) == (None, "201")

    @pytest.mark.parametrize("status", [200, 202])
    def test_others_are_if_they_say_where_the_push_is(self, status: int) -> None:
        assert webpush().send_result(answer(status, Location="https://push.example.net/message/1"))
        with pytest.raises(OutcomeUnknown):
            webpush().send_result(answer(status, "<html>"))

    @pytest.mark.parametrize(
        ("recorded", "kind", "suppress", "is_doubtful"),
        [
            ("response-403-vapid.http", "InvalidRecipient", "wrong_sender", True),
            ("response-404.http", "RecipientUnavailable", "unregistered", False),
            ("response-410.http", "RecipientUnavailable", "unregistered", False),
            ("response-429.http", "RateLimited", None, False),
        ],
    )
    def test_recorded_means_this(self, recorded: str, kind: str, suppress: str | None, is_doubtful: bool) -> None:
        with pytest.raises(ProviderError) as caught:
            webpush().send_result(http_file(f"webpush/{recorded}", payload))

        error = caught.value
        assert (type(error).__name__, error.suppress, error.is_doubtful) == (kind, suppress, is_doubtful)

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (301, "OutcomeUnknown"),
            (400, "InvalidRecipient"),
            (401, "AuthenticationFailed"),
            (406, "UnknownRefusal"),
            (408, "OutcomeUnknown"),
            (413, "InvalidRequest"),
            (429, "RateLimited"),
            (500, "OutcomeUnknown"),
            (503, "OutcomeUnknown"),
        ],
    )
    def test_is_judged_by_its_status(self, status: int, kind: str) -> None:
        with pytest.raises(ProviderError) as caught:
            webpush().send_result(answer(status, "<html>", Retry_After="7"))

        assert (type(caught.value).__name__, caught.value.retry_after_seconds) == (kind, 7.0)
