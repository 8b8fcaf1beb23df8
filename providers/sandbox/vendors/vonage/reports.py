"""The Reports API, for both of Vonage's SMS APIs: records by id or by the time of the call. Contract: its OpenAPI file of 2021."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from providers.sandbox.book import Ledger, Message
from providers.sandbox.wire import Reply, Request, json_reply

PATH = "/v2/reports/records"
LONGEST = timedelta(hours=24)

Rows = Callable[[Message, str], Iterable[dict[str, Any]]]  # the records of a message of an account


def kind(request: Request) -> str:
    return "status" if "id" in request.parameters else "find"


def report(request: Request, ledger: Ledger, product: str, rows: Rows) -> Reply:
    """Answer a question. `rows` makes records of a message; each is found by its `message_id` as well."""
    asked = request.parameters
    account_id = ledger.account.credentials["api_key"]
    if asked.get("account_id") != account_id:
        return json_reply(403, {"title": "Forbidden", "detail": "User not authorized to query the requested data"})
    wrong = _wrong(asked, product)
    if wrong is not None:
        return _unprocessable(wrong)
    with ledger.lock:
        if "id" in asked:
            records, missing = _by_id(ledger, asked["id"].split(","), account_id, rows)
        else:
            records, missing = _by_time(ledger, asked, account_id, rows), []
    content: dict[str, Any] = {
        "_links": {"self": {"href": f"https://api.nexmo.com{PATH}?{request.query}"}},
        "request_id": str(uuid.uuid4()),
        "request_status": "SUCCESS",
        "received_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S+0000"),
        "direction": "outbound",
        "product": product,
        "account_id": account_id,
        "items_count": len(records),
        "records": records,
    }
    if missing:
        content["ids_not_found"] = ",".join(missing)
    return json_reply(200, content, note=f"{len(records)} found")


def basic(header: str) -> tuple[str, str] | None:
    """User and password of an Authorization header."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return user, password


def _wrong(asked: dict[str, str], product: str) -> str | None:
    """The name of the first wrong parameter."""
    if asked.get("product") != product:
        return "product"
    if asked.get("direction") != "outbound":
        return "direction"
    if "id" in asked:
        return next((name for name in ("status", "date_start", "date_end") if name in asked), None)
    try:
        start, end = (_time(asked[name]) for name in ("date_start", "date_end"))
    except (KeyError, ValueError):
        return "date_start"
    return "date_end" if end - start > LONGEST else None


def _by_id(ledger: Ledger, ids: list[str], account_id: str, rows: Rows) -> tuple[list[dict[str, Any]], list[str]]:
    found, missing = [], []
    for id in ids:
        records = [row for message in ledger.newest_first(("id", id.lower())) for row in rows(message, account_id)]
        records = [row for row in records if row["message_id"].lower() == id.lower()]
        found += records
        missing += [] if records else [id]
    return found, missing


def _by_time(ledger: Ledger, asked: dict[str, str], account_id: str, rows: Rows) -> list[dict[str, Any]]:
    start, end = (_time(asked[name]).timestamp() for name in ("date_start", "date_end"))
    taken = [message for message in ledger.newest_first() if start <= int(message.taken_at) < end]
    return [row for message in taken for row in rows(message, account_id)]


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("no zone")
    return time


def _unprocessable(parameter: str) -> Reply:
    reasons = [{"name": parameter, "reason": "missing or invalid"}]
    return json_reply(422, {"title": "Unprocessable entity", "invalid_parameters": reasons})
