"""Firebase Cloud Messaging, HTTP v1. API reference: https://firebase.google.com/docs/reference/fcm/rest/v1 (read 2026-11).

There are no keys, no look-ups and no reports: that a device has a push only its app can say, by the receipt it finds in
the data. A second push of one message replaces the first by its tag.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import quote

from providers import pushes, reading
from providers.base import read_json
from providers.errors import OutcomeUnknown
from providers.fcm import tokens
from providers.fcm.codes import refusal
from providers.messages import AttemptRef, HttpRequest, HttpResponse, OutgoingMessage, Push, SendResult, Token
from providers.pushes import PushProvider, as_json, data_of, fitted

# Of notification and data together. Their limit is 4,096 bytes, some of which they use themselves: for iOS they add fields.
PAYLOAD_BYTES = 3840
RESERVED = frozenset({"from", "message_type"})
RESERVED_BEGINNINGS = ("google", "gcm")
SHOWN = ("title", "body", "tag")  # by the app itself


class Fcm(PushProvider):
    """Credentials are the members of a service account's key file, which may be pasted as it is.

    `data_only`: the app itself shows what it gets, as `title` and `body` of the data, under `tag`. Android wakes no app for
    what the system shows, so that without it a receipt comes only from an app that is open.
    """

    name = "fcm"
    reach = "fcm"
    wants_token = True
    credential_names = ("project_id", "client_email", "private_key")
    optional_credential_names = ("private_key_id",)
    setting_names = ("app", "data_only")
    default_base_url = "https://fcm.googleapis.com"
    unverified: ClassVar[tuple[str, ...]] = (
        "No call was ever made to FCM.",
        "How much of 4,096 bytes is used by what FCM adds for iOS: we leave 256.",
        "That a 503 with UNAVAILABLE was not processed; a 500 is taken to be unclear, and repeated.",
        "How long to wait after QUOTA_EXCEEDED without Retry-After: we wait a minute.",
        "No collapse key is set: of a device that is off only four would be kept. Tags replace what is shown.",
    )

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        token, push = self.device_of(message), message.push or Push()
        is_data_only = bool(self.account.settings.get("data_only"))
        data = data_of(push, lambda name: _is_reserved(name) or (is_data_only and name in SHOWN))

        def build(title: str | None, text: str) -> dict[str, Any]:
            shown = {"title": title, "body": text} if title else {"body": text}
            if is_data_only:  # iOS gets it twice: one for itself to show
                return {"data": {**shown, "tag": attempt.message, **data}, "alert": shown}
            return {"notification": shown, "data": data}

        payload = fitted(message, build, PAYLOAD_BYTES, copies=2 if is_data_only else 1)
        alert = payload.pop("alert", None)
        seconds = pushes.time_to_live(message)
        fields = {
            "token": token,
            **payload,
            "android": _android(push, seconds, tag=None if is_data_only else attempt.message),
            "apns": _apns(attempt, push, alert),
            "webpush": _webpush(attempt, push, seconds),
        }
        url = f"{self.base_url}/v1/projects/{quote(self.account.credentials['project_id'], safe='')}/messages:send"
        return HttpRequest("POST", url, {"Content-Type": "application/json"}, as_json({"message": fields}))

    def token_request(self, now: datetime) -> HttpRequest:
        url = f"{self.base_url}/token" if self.account.base_url else tokens.URL
        return tokens.request(self.account.credentials, url, now)

    def token_result(self, answer: HttpResponse) -> Token:
        return tokens.result(answer)

    def with_token(self, request: HttpRequest, token: Token) -> HttpRequest:
        return replace(request, headers={**request.headers, "Authorization": f"Bearer {token.value}"})

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise refusal(answer)
        fields = read_json(answer)
        name = reading.identifier(fields.get("name")) if isinstance(fields, dict) else None
        if name is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(name)


def _is_reserved(name: str) -> bool:
    return name in RESERVED or name.startswith(RESERVED_BEGINNINGS)


def _android(push: Push, seconds: int, tag: str | None) -> dict[str, Any]:
    """What has a tag here is shown by the system."""
    android = {"priority": "HIGH" if push.is_urgent else "NORMAL", "ttl": f"{seconds}s"}
    return {**android, "notification": {"tag": tag}} if tag else android


def _apns(attempt: AttemptRef, push: Push, alert: dict[str, str] | None) -> dict[str, Any]:
    """No `apns-expiration`: it is a time of day, and a repetition has to be the same.

    An extension of the app gets a look at what is mutable before iOS shows it, and can report it.
    """
    headers = {"apns-collapse-id": attempt.message, "apns-priority": "10" if push.is_urgent else "5"}
    aps: dict[str, Any] = {"mutable-content": 1} if push.receipt else {}
    if alert is not None:
        aps["alert"] = alert
    return {"headers": headers, "payload": {"aps": aps}} if aps else {"headers": headers}


def _webpush(attempt: AttemptRef, push: Push, seconds: int) -> dict[str, Any]:
    urgency = "high" if push.is_urgent else "normal"
    return {"headers": {"TTL": str(seconds), "Topic": attempt.message, "Urgency": urgency}}
