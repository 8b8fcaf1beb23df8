"""Web Push: RFC 8030 (sending), 8291 (sealing), 8292 (who sends).

A device is a subscription that a browser gave out: an address at the service of that browser's choice, and keys. There
are no look-ups and no reports. A second push of one message replaces the first at the service by its topic, and what is
shown already if the app's service worker shows it under the tag it finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

from providers import es256, pushes, reading
from providers.errors import InvalidRecipient, OutcomeUnknown
from providers.messages import Account, AttemptRef, HttpRequest, HttpResponse, OutgoingMessage, Push, SendResult
from providers.pushes import PushProvider, as_json, data_of, fitted
from providers.webpush import encryption
from providers.webpush.codes import ACCEPTED, CREATED, refusal

TOKEN_SECONDS = 12 * 3600  # they take tokens that end within a day
TOKEN_STEP_SECONDS = 3600  # a new one each hour


class WebPush(PushProvider):
    """`vapid_private_key` is 32 bytes in base64url, `contact` a mailto: or https: address for the services' operators.

    A base URL stands for all services: what would go to an address of theirs goes there, under the same path.
    """

    name = "webpush"
    reach = "webpush"
    credential_names = ("vapid_private_key",)
    setting_names = ("app", "contact")
    default_base_url = ""
    unverified: ClassVar[tuple[str, ...]] = (
        "No call was ever made to a browser's push service.",
        "What 400 and 403 are about, the subscription or our key: a subscription is given up only if others work.",
        "That 200 and 202 mean a push was taken: only with a Location they do.",
        "What 406 means, which some services answer to a topic.",
    )

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._tokens: dict[tuple[str, int], str] = {}  # by service and end

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        push = message.push or Push()
        given = _subscription(self.device_of(message))
        data = data_of(push, lambda name: False)
        receipt = {pushes.RECEIPT: data.pop(pushes.RECEIPT)} if pushes.RECEIPT in data else {}

        def build(title: str | None, text: str) -> Mapping[str, Any]:
            shown = {"title": title, "body": text} if title else {"body": text}
            return {**shown, "tag": attempt.message, "data": data, **receipt}

        plain = as_json(fitted(message, build, encryption.PLAIN_BYTES))
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(pushes.time_to_live(message)),
            "Topic": attempt.message[:32],
            "Urgency": "high" if push.is_urgent else "normal",
        }
        body = self._sealed(plain, given, attempt)
        return HttpRequest("POST", self._url(given["endpoint"]), headers, body, is_foreign=not self.account.base_url)

    def authorize(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """Say to the service who sends (VAPID), in words that hold for it alone."""
        parts = urlsplit(request.url)
        proof = self._token(f"{parts.scheme}://{parts.netloc}", now)
        key = es256.base64url(encryption.public_bytes(self._key()))
        return replace(request, headers={**request.headers, "Authorization": f"vapid t={proof},k={key}"})

    def send_result(self, answer: HttpResponse) -> SendResult:
        """The Location is not kept: whoever knows it may take the push back, and nothing can be asked there."""
        is_taken = answer.status == CREATED or (answer.status in ACCEPTED and answer.headers.get("Location"))
        if is_taken:
            return SendResult(None, provider_status=str(answer.status))
        if 200 <= answer.status < 300:
            raise OutcomeUnknown("the answer does not say where the push is", http_status=answer.status)
        raise refusal(answer)

    def _sealed(self, plain: bytes, given: Mapping[str, str], attempt: AttemptRef) -> bytes:
        secret = self._key().private_numbers().private_value.to_bytes(es256.SCALAR_BYTES)
        name = b"\0".join((given["endpoint"].encode(), given["p256dh"].encode(), attempt.id.encode()))
        chance = encryption.chance_for(secret, name, plain)
        try:
            browser, auth = es256.from_base64url(given["p256dh"]), es256.from_base64url(given["auth"])
            return encryption.sealed(plain, browser=browser, auth=auth, chance=chance)
        except ValueError as error:
            raise InvalidRecipient("the subscription's keys are none") from error

    def _url(self, endpoint: str) -> str:
        if not self.account.base_url:
            return endpoint
        parts = urlsplit(endpoint)
        return f"{self.base_url}{parts.path}" + (f"?{parts.query}" if parts.query else "")

    def _token(self, service: str, now: datetime) -> str:
        ends_at = int(now.timestamp()) // TOKEN_STEP_SECONDS * TOKEN_STEP_SECONDS + TOKEN_SECONDS
        if (service, ends_at) not in self._tokens:
            claims = {"aud": service, "exp": ends_at}
            if contact := self.account.settings.get("contact"):
                claims["sub"] = str(contact)
            self._tokens[service, ends_at] = es256.token({}, claims, self._key())
        return self._tokens[service, ends_at]

    def _key(self) -> Any:
        return es256.key_of_scalar(self.account.credentials["vapid_private_key"])


def _subscription(text: str) -> Mapping[str, str]:
    """Raises InvalidRecipient for what is none."""
    given = reading.json_object(text.encode(errors="replace")) or {}
    known = {name: given.get(name) for name in ("endpoint", "p256dh", "auth")}
    if not all(isinstance(value, str) and value.isascii() for value in known.values()):
        raise InvalidRecipient("the device is no subscription")
    return {name: str(value) for name, value in known.items()}
