"""The SMS API's JSON and receipts, field by field as in tests/providers/payloads/vonage_sms/, and the receipts' signature."""

from __future__ import annotations

import hmac
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.sandbox.book import Message

NETWORK = "31026"
PRICE = "0.03330000"


@dataclass(frozen=True, slots=True)
class Sms:
    sender: str
    reference: str
    callback_url: str | None
    part_ids: tuple[str, ...]


def taken(message: Message) -> dict[str, Any]:
    """The answer to a send: an entry for each part."""
    sms: Sms = message.content
    entries = [
        {
            "to": message.to.removeprefix("+"),
            "message-id": part_id,
            "status": "0",
            "remaining-balance": "15.53590000",
            "message-price": PRICE,
            "network": NETWORK,
        }
        | ({"client-ref": sms.reference} if sms.reference else {})
        for part_id in sms.part_ids
    ]
    return {"message-count": str(len(entries)), "messages": entries}


def refused(status: int, text: str) -> dict[str, Any]:
    return {"message-count": "1", "messages": [{"status": str(status), "error-text": text}]}


def receipt(message: Message, api_key: str, status: str, error_code: int, at: float) -> dict[str, str]:
    """The receipt of the part whose id the message has here."""
    sms: Sms = message.content
    fields = {
        "msisdn": message.to.removeprefix("+"),
        "to": sms.sender,
        "network-code": NETWORK,
        "messageId": message.id,
        "price": PRICE,
        "status": status,
        "scts": datetime.fromtimestamp(at, UTC).strftime("%y%m%d%H%M"),
        "err-code": str(error_code),
        "api-key": api_key,
        "message-timestamp": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
    }
    return fields | ({"client-ref": sms.reference} if sms.reference else {})


def signed(fields: Mapping[str, str], secret: str, at: float) -> dict[str, str]:
    """The same with time, nonce and signature (HMAC with SHA-256)."""
    full = {**fields, "timestamp": str(int(at)), "nonce": str(uuid.uuid4())}
    text = "".join(f"&{name}={full[name].replace('&', '_').replace('=', '_')}" for name in sorted(full))
    return {**full, "sig": hmac.digest(secret.encode(), text.encode(), "sha256").hex()}


def records(message: Message, account_id: str) -> list[dict[str, Any]]:
    """A message as reports show it: a record for each part."""
    sms: Sms = message.content
    return [
        {
            "account_id": account_id,
            "message_id": part_id,
            "client_ref": sms.reference,
            "concatenated": len(sms.part_ids) > 1,
            "direction": "outbound",
            "from": sms.sender,
            "to": message.to.removeprefix("+"),
            "network": NETWORK,
            "date_received": _zoned(message.taken_at),
            "date_finalized": _zoned(message.updated_at),
            "status": message.status,
            "error_code": str(message.error_code or 0),
            "currency": "EUR",
            "total_price": PRICE,
        }
        for part_id in sms.part_ids
    ]


def _zoned(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")
