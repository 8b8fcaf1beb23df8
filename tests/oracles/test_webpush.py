"""Web Push: how http-ece seals and opens, what py-vapid believes, and what pywebpush sends, beside ours."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import http_ece
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import assume, given
from hypothesis import strategies as st
from py_vapid import Vapid
from pywebpush import webpush as their_push

from providers import es256
from providers.sandbox import browser
from providers.webpush.encryption import ORDER, PLAIN_BYTES, Chance, chance_for, public_bytes, sealed
from tests.oracles.sdk import caught, changed, often, pushes, seldom
from tests.providers.samples.base import ATTEMPT, NOW, payload
from tests.providers.samples.webpush import ENDPOINT, MESSAGE, VAPID_KEY, device, webpush

Key = ec.EllipticCurvePrivateKey

VECTOR = json.loads(payload("webpush/rfc8291-encryption-vector.json"))
VAPID_VECTOR = json.loads(payload("webpush/vapid-vector.json"))
SIZES = range(16, 21)  # where a body says how long its records and its key are

keys = st.integers(1, ORDER - 1).map(lambda number: ec.derive_private_key(number, ec.SECP256R1()))
secrets = st.binary(min_size=16, max_size=16)
endpoints = st.sampled_from([ENDPOINT, "https://push.example.net:8443/a?b=c", "https://a.b.push.example/wpush/v2/x"])


def opened(body: bytes, key: Key, auth: bytes) -> bytes:
    plain: bytes = http_ece.decrypt(body, private_key=key, auth_secret=auth, version="aes128gcm")
    return plain


def key_of(text: str) -> Key:
    return es256.key_of_scalar(text)


class TestSealing:
    def test_the_vector_of_the_rfc_is_theirs_too(self):
        body, auth = (es256.from_base64url(VECTOR[name]) for name in ("body", "auth_secret"))

        assert opened(body, key_of(VECTOR["ua_private"]), auth).decode() == VECTOR["plaintext"]

    @often
    @given(keys, keys, secrets, secrets, st.binary(min_size=1, max_size=PLAIN_BYTES))
    def test_is_theirs_byte_for_byte(self, sender, receiver, auth, salt, plain):
        ours = sealed(plain, browser=public_bytes(receiver), auth=auth, chance=Chance(salt, sender))

        assert opened(ours, receiver, auth) == plain
        assert ours == http_ece.encrypt(
            plain, salt=salt, private_key=sender, dh=public_bytes(receiver), auth_secret=auth, version="aes128gcm"
        )

    @often
    @given(keys, secrets, st.integers(0, 107), st.integers(1, 255))
    def test_nobody_opens_what_was_changed(self, key, auth, place, bits):
        body = bytearray(sealed(b"Shipped", browser=public_bytes(key), auth=auth, chance=chance_for(b"1", b"2", b"3")))
        assume(place < len(body) and place not in SIZES)
        body[place] ^= bits

        with pytest.raises((http_ece.ECEException, ValueError)):
            opened(bytes(body), key, auth)

    @often
    @given(keys, keys, secrets, secrets)
    def test_nobody_else_opens_it(self, key, other, auth, other_auth):
        body = sealed(b"Shipped", browser=public_bytes(key), auth=auth, chance=chance_for(b"1", b"2", b"3"))

        for who, what in ((other, auth), (key, other_auth)):
            assume(public_bytes(who) != public_bytes(key) or what != auth)
            with pytest.raises(http_ece.ECEException):
                opened(body, who, what)

    @seldom
    @given(st.binary(min_size=1, max_size=PLAIN_BYTES))
    def test_the_browser_of_our_sandbox_opens_what_theirs_seals(self, plain):
        sender = ec.generate_private_key(ec.SECP256R1())
        receiver, auth = es256.from_base64url(browser.P256DH), es256.from_base64url(browser.AUTH)

        body = http_ece.encrypt(plain, private_key=sender, dh=receiver, auth_secret=auth, version="aes128gcm")

        assert browser.opened(body) == plain


class TestSend:
    @often
    @given(keys, secrets, endpoints, pushes(device()))
    def test_asks_for_what_their_client_would(self, key, auth, endpoint, message):
        p256dh, written = es256.base64url(public_bytes(key)), es256.base64url(auth)
        ours = webpush()
        request = ours.authorize(
            ours.send_request(replace(message, to=device(endpoint, p256dh=p256dh, auth=written)), ATTEMPT), NOW
        )
        plain = opened(request.body, key, auth).decode()
        with caught({}, 201) as made, patch("time.time", NOW.timestamp):
            their_push(
                {"endpoint": endpoint, "keys": {"p256dh": p256dh, "auth": written}},
                plain,
                VAPID_KEY,
                {"sub": "mailto:ops@example.com"},
                ttl=int(request.headers["TTL"]),
            )

        [theirs] = made
        assert (request.method, request.url) == (theirs.method, theirs.url)
        assert opened(theirs.body, key, auth).decode() == plain
        assert len(theirs.body) == len(request.body)
        for name in ("TTL", "Content-Encoding"):
            assert request.headers[name] == theirs.headers[name]
        assert said_by(request.headers["Authorization"]) == said_by(theirs.headers["Authorization"])

        shown = json.loads(plain)
        assert (shown["body"], shown.get("title")) == (message.text, message.push.title)
        assert (shown["data"], shown.get("receipt", "")) == (message.push.data, message.push.receipt)


def said_by(proof: str) -> tuple[str, str, dict[str, object]]:
    """The scheme of a proof, its key, and what it claims."""
    scheme, _, parts = proof.partition(" ")
    token, _, key = parts.partition(",k=")
    return scheme, key, jwt.decode(token.removeprefix("t="), options={"verify_signature": False})


class TestProof:
    @often
    @given(keys, endpoints, st.integers(1_600_000_000, 2_200_000_000))
    def test_is_believed(self, key, endpoint, moment):
        scalar = es256.base64url(key.private_numbers().private_value.to_bytes(es256.SCALAR_BYTES))
        adapter = type(webpush())(replace(webpush().account, credentials={"vapid_private_key": scalar}))
        now = datetime.fromtimestamp(moment, UTC)

        proof = adapter.authorize(adapter.send_request(replace(MESSAGE, to=device(endpoint)), ATTEMPT), now)
        written = proof.headers["Authorization"]

        assert Vapid.verify(written)
        token = written.partition("t=")[2].partition(",")[0]
        claims = jwt.decode(
            token,
            key.public_key(),
            ["ES256"],
            audience="/".join(endpoint.split("/")[:3]),
            options={"verify_exp": False},
        )
        assert now < datetime.fromtimestamp(claims["exp"], UTC) <= now + timedelta(hours=24)
        assert (
            Vapid.from_string(scalar).sign(claims)["Authorization"].partition(",k=")[2] == written.partition(",k=")[2]
        )

    @often
    @given(st.data())
    def test_that_was_changed_is_not(self, data):
        adapter = webpush()
        written = adapter.authorize(adapter.send_request(MESSAGE, ATTEMPT), NOW).headers["Authorization"]
        token, _, key = written.removeprefix("vapid t=").partition(",k=")
        signed, _, signature = token.rpartition(".")
        altered = data.draw(changed(signed))
        assume(altered != signed)

        assert Vapid.verify(f"vapid t={signed}.{signature},k={key}")
        assert not Vapid.verify(f"vapid t={altered}.{signature},k={key}")

    def test_the_vector_is_believed_and_its_key_is_theirs(self):
        assert Vapid.verify(VAPID_VECTOR["authorization_header"])
        ours = es256.base64url(public_bytes(key_of(VAPID_VECTOR["private_key_base64url_for_tests_only"])))
        assert ours == VAPID_VECTOR["application_server_key_base64url"]
