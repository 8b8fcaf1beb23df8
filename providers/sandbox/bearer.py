"""Vendors that know their callers by one key in the Authorization header."""

from __future__ import annotations

from typing import Any

from providers.sandbox.book import Ledger
from providers.sandbox.vendor import Vendor
from providers.sandbox.wire import Request


class BearerVendor(Vendor):
    """`Authorization: Bearer KEY`, where the key is the credential `api_key` and tells whose request it is."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._by_key = {ledger.account.credentials["api_key"]: ledger for ledger in self.book.of(self.provider)}

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        ledger = self._by_key.get(key) if scheme.lower() == "bearer" else None
        return ledger, ledger is not None
