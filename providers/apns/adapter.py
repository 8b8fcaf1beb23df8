"""Apple Push Notification service, with a token for authentication.

API reference: https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
(read 2026-11). There are no keys, no look-ups and no reports. A second push of one message replaces the first by its
collapse id; that a device has it only its app can say, by the receipt in the payload.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import quote

from providers import es256, pushes, reading
from providers.apns.codes import refusal
from providers.errors import OutcomeUnknown
from providers.messages import Account, AttemptRef, HttpRequest, HttpResponse, OutgoingMessage, Push, SendResult
from providers.pushes import RECEIPT, PushProvider, as_json, data_of, fitted

HOSTS = {"production": "https://api.push.apple.com", "sandbox": "https://api.sandbox.push.apple.com"}
PAYLOAD_BYTES = 4096
USEFUL_SECONDS = "X-Useful-Seconds"  # for ourselves: `authorize` takes it off the call
TOKEN_SECONDS = 1800  # their tokens are good for an hour, and must not change more often than every 20 minutes


class Apns(PushProvider):
    """`environment` is `production`, or `sandbox` for apps that Xcode has installed: a device is known in one of them only.

    `topic` is the app's bundle id, `private_key` the text of the .p8 file, `key_id` its ten characters.
    """

    name = "apns"
    reach = "apns"
    credential_names = ("team_id", "key_id", "private_key", "topic")
    setting_names = ("app", "environment")
    default_base_url = HOSTS["production"]
    unverified: ClassVar[tuple[str, ...]] = (
        "No call was ever made to APNs.",
        "Whether tokens count as changed where only their signature differs: ours are the same in all processes.",
        "When a device was registered again after it was gone (`timestamp`): a token that is gone is used no more.",
        "How long to wait after TooManyRequests, which is about one device.",
        "That streams beyond a GOAWAY's last were not processed: libcurl repeats those by itself.",
    )

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        if not account.base_url:
            self.base_url = HOSTS.get(str(account.settings.get("environment")), self.default_base_url)
        self._token: tuple[int, str] = (0, "")  # when it was issued

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        device, push = self.device_of(message), message.push or Push()
        data = data_of(push, lambda name: name == "aps")

        def build(title: str | None, text: str) -> Mapping[str, Any]:
            alert = {"title": title, "body": text} if title else {"body": text}
            return {"aps": _aps(alert, has_receipt=RECEIPT in data), **data}

        headers = {
            "Content-Type": "application/json",
            "apns-id": str(uuid.uuid5(uuid.NAMESPACE_OID, attempt.id)),
            "apns-topic": self.account.credentials["topic"],
            "apns-push-type": "alert",
            "apns-priority": "10" if push.is_urgent else "5",
            "apns-collapse-id": attempt.message,
            USEFUL_SECONDS: str(pushes.time_to_live(message)),
        }
        return HttpRequest(
            "POST",
            f"{self.base_url}/3/device/{quote(device, safe='')}",
            headers,
            as_json(fitted(message, build, PAYLOAD_BYTES)),
            needs_http2=self.base_url.startswith("https:"),  # a server without TLS is the sandbox, which is older
        )

    def authorize(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """Add the token, and say when the push is useful no more: a time of day, so it cannot be said before the call."""
        headers, useful = pushes.headers_without(request.headers, USEFUL_SECONDS)
        if useful is not None:
            headers["apns-expiration"] = str(int(now.timestamp()) + int(useful))
        return replace(request, headers={**headers, "Authorization": f"bearer {self._token_at(now)}"})

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise refusal(answer)
        apns_id = reading.identifier(answer.headers.get("apns-id"))
        if apns_id is None:
            raise OutcomeUnknown("the answer names no push", http_status=answer.status)
        return SendResult(apns_id)

    def _token_at(self, now: datetime) -> str:
        """The token of this half hour: every process makes the same one."""
        issued_at = int(now.timestamp()) // TOKEN_SECONDS * TOKEN_SECONDS
        if self._token[0] != issued_at:
            credentials = self.account.credentials
            claims = {"iss": credentials["team_id"], "iat": issued_at}
            made = es256.token({"kid": credentials["key_id"]}, claims, es256.key_of_pem(credentials["private_key"]))
            self._token = (issued_at, made)
        return self._token[1]


def _aps(alert: Mapping[str, str], *, has_receipt: bool) -> dict[str, Any]:
    """What is mutable an extension of the app gets a look at, and can report, before it is shown."""
    aps: dict[str, Any] = {"alert": alert, "sound": "default"}
    return {**aps, "mutable-content": 1} if has_receipt else aps
