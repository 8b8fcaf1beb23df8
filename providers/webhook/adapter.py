"""Webhooks out, after Standard Webhooks 1.0.0 (https://www.standardwebhooks.com, read 2026-11).

An endpoint is an account of its own: its address and its secrets are its credentials. What it is told twice it knows by
`webhook-id`, which is the message's own and the same at every try, or that of the message which this one repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from providers import reading, retry_after
from providers.base import Provider
from providers.errors import EndpointGone, RateLimited, Unavailable, UnsupportedFeature
from providers.messages import (
    Ability,
    Account,
    AttemptRef,
    Channel,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
    SendResult,
)
from providers.webhook import signature

GONE = 410
TOO_MANY = 429
# The schedule that the specification suggests, behind the first try, and two days more: a long weekend is no end.
SCHEDULE_SECONDS = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400, 86_400, 86_400)
SIX_DAYS = 6 * 24 * 3600


class Webhook(Provider):
    """`previous_secret` signs beside `secret` until `previous_secret_until`, so that a receiver can change over."""

    name = "webhook"
    channels = frozenset({Channel.WEBHOOK})
    abilities = frozenset({Ability.KEYS})
    credential_names = ("url", "secret")
    optional_credential_names = ("previous_secret", "github_secret")
    setting_names = ("headers", "previous_secret_until")
    default_base_url = ""
    key_life_seconds = float(SIX_DAYS)
    look_up_delay_seconds = 0.0
    schedule_seconds = SCHEDULE_SECONDS
    calls_at_once = 4
    proves_delivery = True

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self.reach = account.slug  # type: ignore[misc]  # one endpoint each

    @staticmethod
    def new_secret() -> str:
        """As it is shown to the endpoint's owner, once."""
        return signature.new_secret()

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        """Describe the call. The body is the event's, byte for byte. Raises EndpointGone for one without an address."""
        if message.channel not in self.channels or message.subject or message.html:
            raise UnsupportedFeature("an endpoint takes events only")
        url = self.account.credentials.get("url")
        if not url:
            raise EndpointGone("the endpoint has no address")
        headers = {
            **self._own_headers(),
            "Content-Type": "application/json",
            "User-Agent": "Landfall-Webhooks/1",
            "webhook-id": f"msg_{message.event or attempt.message}",
        }
        return HttpRequest("POST", url, headers, message.text.encode(), is_foreign=True)

    def authorize(self, request: HttpRequest, now: datetime) -> HttpRequest:
        """Sign with each secret that is valid now. The time is this try's, so that an old call cannot be played again.

        Raises EndpointGone where a secret is none.
        """
        timestamp = int(now.timestamp())
        signed = signature.standard(request.headers["webhook-id"], timestamp, request.body, self._keys(now))
        headers = {**request.headers, "webhook-timestamp": str(timestamp), "webhook-signature": signed}
        if github_secret := self.account.credentials.get("github_secret"):
            headers["X-Hub-Signature-256"] = signature.github(request.body, github_secret)
        return replace(request, headers=headers)

    def send_result(self, answer: HttpResponse) -> SendResult:
        """2xx is all that counts. Redirects are not followed: whoever has moved is told by its owner."""
        status = answer.status
        if 200 <= status < 300:
            return SendResult(None, provider_status=str(status))
        if status == GONE:
            raise EndpointGone("the endpoint is gone", code=str(status), http_status=status)
        raise (RateLimited if status == TOO_MANY else Unavailable)(
            f"HTTP {status}",
            code=str(status),
            http_status=status,
            retry_after_seconds=retry_after.from_headers(answer.headers),
        )

    def _keys(self, now: datetime) -> list[bytes]:
        credentials = self.account.credentials
        given = [credentials.get("secret", "")]
        until = reading.iso_time(str(self.account.settings.get("previous_secret_until") or ""))
        if credentials.get("previous_secret") and until is not None and now < until:
            given.append(credentials["previous_secret"])
        try:
            return [signature.key(secret) for secret in given]
        except ValueError:
            raise EndpointGone("a secret of the endpoint cannot be read") from None

    def _own_headers(self) -> Mapping[str, Any]:
        headers = self.account.settings.get("headers")
        return headers if isinstance(headers, dict) else {}
