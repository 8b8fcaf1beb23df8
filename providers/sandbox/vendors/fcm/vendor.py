"""Firebase Cloud Messaging, the vendor's side, with Google's tokens. Contract: its pages and discovery document (read 2026-11)."""

from __future__ import annotations

import secrets
import time
import uuid
from typing import Any

from cryptography.hazmat.primitives.serialization import load_pem_private_key

from providers.sandbox.book import Ledger, Message
from providers.sandbox.pushing import PushVendor, claims_of, is_signed, is_young
from providers.sandbox.vendors.fcm.rules import Objection, read
from providers.sandbox.wire import Reply, Request, json_reply

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
AUDIENCE = "https://oauth2.googleapis.com/token"
LOGIN = "/token"
SEND = "/v1/projects/{}/messages:send"
LIFE_SECONDS = 3599
FCM_ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


class FcmVendor(PushVendor):
    provider = "fcm"
    needs = ("project_id", "client_email", "private_key")

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        ledgers = self.book.of(self.provider)
        self._by_email = {ledger.account.credentials["client_email"]: ledger for ledger in ledgers}
        self._by_path = {SEND.format(ledger.account.credentials["project_id"]): ledger for ledger in ledgers}
        self._tokens: dict[str, tuple[Ledger, float]] = {}  # whose, and until when

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        if request.path == LOGIN:
            return self._signer(request)
        _, _, token = request.headers.get("authorization", "").partition(" ")
        ledger, ends_at = self._tokens.get(token, (self._by_path.get(request.path), 0.0))
        return ledger, time.monotonic() < ends_at

    def kind(self, request: Request) -> str:
        if request.method == "POST" and request.path in self._by_path:
            return "send"
        return "token" if request.path == LOGIN else "other"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        if kind == "token":
            token = f"ya29.{secrets.token_urlsafe(32)}"
            self._tokens[token] = (ledger, time.monotonic() + LIFE_SECONDS)
            return json_reply(200, {"access_token": token, "expires_in": LIFE_SECONDS, "token_type": "Bearer"})
        if kind != "send" or self._by_path[request.path] is not ledger:
            return _error(404)
        message = read(request.body)
        if isinstance(message, Objection):
            return _error(400, field=message.field)
        project = ledger.account.credentials["project_id"]
        data = message.get("data", {})
        shown = message.get("notification") or data
        return self.push(
            ledger,
            id=f"projects/{project}/messages/0:{uuid.uuid4().int % 10**16}%{secrets.token_hex(8)}",
            device=message["token"],
            tag=message.get("android", {}).get("notification", data).get("tag", ""),
            text=shown.get("body", ""),
            content=message,
        )

    def no_to_device(self, refusal: str) -> Reply:
        return {
            "unregistered": _error(404, "UNREGISTERED"),
            "invalid": _error(400, "INVALID_ARGUMENT", field="message.token"),
            "another app's": _error(403, "SENDER_ID_MISMATCH"),
        }[refusal]

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        """Their codes are names: `message` is one."""
        return _error(status, message or "")

    def unauthorized(self, request: Request) -> Reply:
        if request.path == LOGIN:
            return json_reply(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
        return _error(401)

    def rate_limited(self) -> Reply:
        return _error(429, "QUOTA_EXCEEDED")

    def receipt(self, message: Message) -> Reply:
        return json_reply(200, {"name": message.id})

    def _signer(self, request: Request) -> tuple[Ledger | None, bool]:
        form = request.form
        assertion = form.get("assertion", "")
        _, claims = claims_of(assertion)
        ledger = self._by_email.get(str(claims.get("iss")))
        if ledger is None or form.get("grant_type") != GRANT:
            return ledger, False
        key: Any = load_pem_private_key(ledger.account.credentials["private_key"].encode(), None).public_key()
        return ledger, is_signed(assertion, key) and claims.get("aud") == AUDIENCE and is_young(claims, LIFE_SECONDS)


def _error(status: int, code: str = "", field: str = "") -> Reply:
    details: list[dict[str, Any]] = [{"@type": FCM_ERROR, "errorCode": code}] if code else []
    if field:
        details.append({"@type": BAD_REQUEST, "fieldViolations": [{"field": field, "description": "refused"}]})
    error = {"code": status, "message": "refused by the sandbox", "status": STATUSES.get(status, "UNKNOWN")}
    return json_reply(status, {"error": {**error, "details": details} if details else error})
