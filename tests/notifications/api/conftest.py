from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client as HttpClient

from notifications import selectors
from notifications.models import Client
from notifications.services.keys import Scope, make_key

NOTIFICATIONS = "/api/v1/notifications"
BODY = {"to": {"sms": "+4915112345601"}, "content": {"sms": {"text": "Your table is ready"}}}


@dataclass
class Caller:
    """A program that calls the API with one key."""

    key: str
    http: HttpClient

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.http.get(path, headers=self._headers(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        data = body if isinstance(body, bytes) else json.dumps(body)
        return self.http.post(path, data, content_type="application/json", headers=self._headers(headers))

    def submit(self, body: Any = BODY, **headers: str) -> HttpResponse:
        return self.post(NOTIFICATIONS, body, **headers)

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", **{name.replace("_", "-"): v for name, v in headers.items()}}


def caller_of(client_name: str, *scopes: Scope) -> Caller:
    client, _ = Client.objects.get_or_create(name=client_name)
    selectors.clients.forget()
    return Caller(make_key(client, scopes or list(Scope)), HttpClient(raise_request_exception=False))


@pytest.fixture
def caller(seeded: None) -> Caller:
    return caller_of("shop")
