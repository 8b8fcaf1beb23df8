"""Clients of the vendors, knowing no adapter: what they say is what the vendors' documentation says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import requests

from providers.sandbox import Sandbox, SandboxAccount

PAYLOADS = Path(__file__).parent.parent / "payloads"
SENDER = "+15005550006"
SERVICE = "MG00000000000000000000000000000001"
TWILIO = SandboxAccount(
    "sms-a",
    "twilio",
    {
        "account_sid": "AC00000000000000000000000000000001",
        "auth_token": "a1b2c3d4e5f60718293a4b5c6d7e8f90",
        "api_key_sid": "SK00000000000000000000000000000001",
        "api_key_secret": "key-secret",
    },
)
OTHER_TWILIO = SandboxAccount(
    "sms-b", "twilio", {"account_sid": "AC00000000000000000000000000000002", "auth_token": "other-token"}
)
POSTMARK_TOKEN = "00000000-1111-2222-3333-444444444444"
RESEND = {"api_key": "re_EXAMPLE_0000000000000000000000", "webhook_secret": "whsec_orJQD7i0BgsoVCWm6YhYOTwe7zSrbpzN"}
Answer = TypeVar("Answer")


def number(role: str, person: int = 0) -> str:
    """A mobile number that plays this role."""
    return f"+49151{person:06d}{role}"


class TwilioClient:
    def __init__(self, sandbox: Sandbox, account: SandboxAccount, callback_url: str | None) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.auth = (account.credentials["account_sid"], account.credentials["auth_token"])
        self.callback_url = callback_url
        self.base_url = sandbox.base_url(account.slug)
        self.list_url = f"{self.base_url}/2010-04-01/Accounts/{account.credentials['account_sid']}/Messages.json"

    def send(
        self, to: str, text: str = "Your code is 123456", *, attempt: str = "a-1", **form: Any
    ) -> requests.Response:
        fields = {"To": to, "From": SENDER, "Body": text, **form}
        if self.callback_url is not None:
            fields.setdefault("StatusCallback", f"{self.callback_url}?attempt={attempt}")
        timeout = fields.pop("timeout", 10)
        return self.http.post(self.list_url, data=fields, timeout=timeout)

    def list(self, **query: Any) -> requests.Response:
        return self.http.get(self.list_url, params=query, timeout=10)

    def fetch(self, sid: str) -> Any:
        return self.http.get(f"{self.list_url.removesuffix('.json')}/{sid}.json", timeout=10).json()


class PostmarkClient:
    def __init__(self, sandbox: Sandbox, slug: str) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.headers.update({"X-Postmark-Server-Token": POSTMARK_TOKEN, "Accept": "application/json"})
        self.base_url = sandbox.base_url(slug)

    def send(self, to: str, *, attempt: str = "b-1", timeout: float = 10, **fields: Any) -> requests.Response:
        mail = payload("postmark/send-request.json") | {"To": to, "Metadata": {"attempt": attempt}} | fields
        return self.http.post(f"{self.base_url}/email", json=mail, timeout=timeout)

    def search(self, **query: Any) -> requests.Response:
        return self.http.get(
            f"{self.base_url}/messages/outbound", params={"count": 50, "offset": 0, **query}, timeout=10
        )

    def details(self, id: str) -> Any:
        return self.http.get(f"{self.base_url}/messages/outbound/{id}/details", timeout=10).json()


class ResendClient:
    def __init__(self, sandbox: Sandbox, slug: str) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.headers.update({"Authorization": f"Bearer {RESEND['api_key']}"})
        self.base_url = sandbox.base_url(slug)

    def send(
        self, to: Any, *, key: str | None = None, attempt: str = "c-1", timeout: float = 10, **fields: Any
    ) -> requests.Response:
        tags = [{"name": "attempt", "value": attempt}]
        mail = payload("resend/send-request.json") | {"to": [to] if isinstance(to, str) else to, "tags": tags} | fields
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.http.post(f"{self.base_url}/emails", json=mail, headers=headers, timeout=timeout)

    def fetch(self, id: str) -> Any:
        return self.http.get(f"{self.base_url}/emails/{id}", timeout=10).json()


def payload(name: str) -> Any:
    return json.loads((PAYLOADS / name).read_text())


def shape(value: Any) -> Any:
    """What kind of value, down to the leaves; null and empty lists fit everything of their place."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shape(part) for part in value]
    return type(value).__name__


def eventually(ask: Callable[[], Answer], fits: Callable[[Answer], bool]) -> Answer:
    """Ask until the answer fits."""
    ends_at = time.monotonic() + 10
    while not fits(answer := ask()):
        assert time.monotonic() < ends_at, answer
        time.sleep(0.005)
    return answer
