"""A push service of browsers, its side. Contract: RFC 8030, 8188, 8291 and 8292; statuses as Mozilla's service has them (read 2026-11).

Its one kind of browser opens every push, so that what no browser could read is refused: a real service would not know.
"""

from __future__ import annotations

import re
import time
import uuid
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from providers.sandbox import browser
from providers.sandbox.book import Ledger, Message
from providers.sandbox.pushing import PushVendor, claims_of, from_base64url, is_signed
from providers.sandbox.wire import Reply, Request, json_reply

SEND = re.compile(r"/push/([A-Za-z0-9_-]{1,200})")
PROOF = re.compile(r"vapid t=([A-Za-z0-9._-]+), ?k=([A-Za-z0-9_-]+)")
TOPIC = re.compile(r"[A-Za-z0-9_-]{0,32}")
BODY_BYTES = 4096
DAY_SECONDS = 24 * 3600
NOES = {"unregistered": 410, "invalid": 404, "another app's": 403}


class WebPushVendor(PushVendor):
    provider = "webpush"
    needs = ("vapid_private_key",)

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._by_key = {_public(ledger.account.credentials["vapid_private_key"]): ledger for ledger in self._ours()}

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        proof = PROOF.fullmatch(request.headers.get("authorization", ""))
        if proof is None:
            return None, False
        try:
            point = from_base64url(proof[2])
            key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        except ValueError:
            return None, False
        _, claims = claims_of(proof[1])
        ends_at = claims.get("exp")
        is_in_time = isinstance(ends_at, int) and 0 < ends_at - time.time() <= DAY_SECONDS
        is_for_us = str(claims.get("aud")).endswith(f"://{request.headers.get('host')}")
        return self._by_key.get(point), is_signed(proof[1], key) and is_in_time and is_for_us

    def kind(self, request: Request) -> str:
        return "send" if request.method == "POST" and SEND.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        asked = SEND.fullmatch(request.path)
        if asked is None or kind != "send":
            return _no(404)
        if len(request.body) > BODY_BYTES:
            return _no(413)
        headers = request.headers
        topic = headers.get("topic", "")
        if not headers.get("ttl", "").isdecimal() or not TOPIC.fullmatch(topic):
            return _no(400)
        try:
            push = browser.shown(request.body) if headers.get("content-encoding") == "aes128gcm" else None
        except ValueError:
            push = None
        if push is None:
            return _no(400)
        content = {"headers": dict(headers), "push": push}
        return self.push(
            ledger, id=uuid.uuid4().hex, device=asked[1], tag=topic, text=str(push.get("body", "")), content=content
        )

    def no_to_device(self, refusal: str) -> Reply:
        return _no(NOES[refusal])

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        return _no(status)

    def unauthorized(self, request: Request) -> Reply:
        return _no(403)

    def rate_limited(self) -> Reply:
        return _no(429)

    def receipt(self, message: Message) -> Reply:
        return Reply(201, headers=(("Location", f"https://push.example.net/message/{message.id}"),))

    def _ours(self) -> list[Ledger]:
        return self.book.of(self.provider)


def _no(status: int) -> Reply:
    return json_reply(status, {"code": status, "error": "refused by the sandbox"})


def _public(private_key: str) -> bytes:
    key = ec.derive_private_key(int.from_bytes(from_base64url(private_key)), ec.SECP256R1())
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
