"""Apple Push Notification service, the vendor's side. Contract: Apple's pages (read 2026-11).

The vendor speaks HTTP/2 over TLS; the sandbox speaks HTTP/1.1 without, as to all its accounts.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from cryptography.hazmat.primitives.serialization import load_pem_private_key

from providers.sandbox.book import Ledger, Message
from providers.sandbox.pushing import PushVendor, claims_of, is_signed, is_young
from providers.sandbox.wire import Reply, Request, json_reply

SEND = re.compile(r"/3/device/([^/]+)")
DEVICE = re.compile(r"([0-9a-f]{2}){8,100}", re.IGNORECASE | re.ASCII)
PAYLOAD_BYTES = 4096
COLLAPSE_ID_BYTES = 64
TOKEN_SECONDS = 3600
NOES = {
    "unregistered": (410, "Unregistered"),
    "invalid": (400, "BadDeviceToken"),
    "another app's": (400, "DeviceTokenNotForTopic"),
}
USUAL_REASONS = {400: "BadDeviceToken", 403: "Forbidden", 413: "PayloadTooLarge", 429: "TooManyRequests"}


class ApnsVendor(PushVendor):
    provider = "apns"
    needs = ("team_id", "key_id", "private_key", "topic")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._by_key: dict[tuple[Any, Any], Ledger] = {}
        for ledger in self.book.of(self.provider):
            self._by_key[ledger.account.credentials["team_id"], ledger.account.credentials["key_id"]] = ledger

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        token = _token(request)
        header, claims = claims_of(token)
        ledger = self._by_key.get((claims.get("iss"), header.get("kid")))
        if ledger is None:
            return None, False
        key: Any = load_pem_private_key(ledger.account.credentials["private_key"].encode(), None).public_key()
        return ledger, is_signed(token, key) and is_young(claims, TOKEN_SECONDS)

    def kind(self, request: Request) -> str:
        return "send" if request.method == "POST" and SEND.fullmatch(request.path) else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        asked = SEND.fullmatch(request.path)
        if asked is None or kind != "send":
            return _no(404, "BadPath")
        if wrong := _fault(request, asked[1], ledger.account.credentials["topic"]):
            return _no(*wrong)
        payload = json.loads(request.body)
        return self.push(
            ledger,
            id=request.headers.get("apns-id") or str(uuid4()),
            device=asked[1],
            tag=request.headers.get("apns-collapse-id", ""),
            text=payload["aps"].get("alert", {}).get("body", ""),
            content={"headers": dict(request.headers), "payload": payload},
        )

    def no_to_device(self, refusal: str) -> Reply:
        return _no(*NOES[refusal])

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Their codes are names: `message` is one."""
        return _no(status, message or USUAL_REASONS.get(status, "InternalServerError"))

    def unauthorized(self, request: Request) -> Reply:
        _, claims = claims_of(_token(request))
        is_late = isinstance(claims.get("iat"), int) and not is_young(claims, TOKEN_SECONDS)
        return _no(403, "ExpiredProviderToken" if is_late else "InvalidProviderToken")

    def rate_limited(self) -> Reply:
        return _no(429, "TooManyRequests")

    def receipt(self, message: Message) -> Reply:
        return Reply(200, headers=(("apns-id", message.id),))


def _fault(request: Request, device: str, topic: str) -> tuple[int, str] | None:
    """The first thing wrong with a request, in their words."""
    headers = request.headers
    if not DEVICE.fullmatch(device):
        return 400, "BadDeviceToken"
    if headers.get("apns-topic") != topic:
        return 400, "DeviceTokenNotForTopic" if headers.get("apns-topic") else "MissingTopic"
    checks = {
        "BadPriority": headers.get("apns-priority", "10") in ("10", "5", "1"),
        "InvalidPushType": headers.get("apns-push-type") in ("alert", "background"),
        "BadCollapseId": len(headers.get("apns-collapse-id", "")) <= COLLAPSE_ID_BYTES,
        "BadExpirationDate": headers.get("apns-expiration", "0").isdecimal(),
        "BadMessageId": _is_uuid(headers.get("apns-id")),
        "PayloadEmpty": _is_payload(request.body),
    }
    if wrong := next((reason for reason, is_right in checks.items() if not is_right), None):
        return 400, wrong
    return (413, "PayloadTooLarge") if len(request.body) > PAYLOAD_BYTES else None


def _is_uuid(value: str | None) -> bool:
    try:
        return value is None or str(UUID(value)) == value
    except ValueError:
        return False


def _is_payload(body: bytes) -> bool:
    try:
        payload = json.loads(body)
    except ValueError:
        return False
    return isinstance(payload, dict) and isinstance(payload.get("aps"), dict)


def _no(status: int, reason: str) -> Reply:
    said: Mapping[str, Any] = {"reason": reason}
    return json_reply(status, {**said, "timestamp": int(time.time() * 1000)} if status == 410 else said)


def _token(request: Request) -> str:
    return request.headers.get("authorization", "").partition(" ")[2]
