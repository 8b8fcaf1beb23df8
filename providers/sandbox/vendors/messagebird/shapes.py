"""MessageBird's JSON, field by field as in tests/providers/payloads/messagebird/, and its signed reports by GET."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.segments import BASIC, EXTENDED, segment_count
from providers.sandbox.vendors.messagebird.rules import Objection

HOME = "https://rest.messagebird.com"
STATUSES = {Word.SENT: "buffered", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "delivery_failed"}
OPTED_OUT, NOT_PROVISIONED = 103, 11
TOKEN_SECONDS = 60 * 60


@dataclass(frozen=True, slots=True)
class Sms:
    originator: str
    reference: str | None
    report_url: str | None
    validity: int | None
    datacoding: str


def record(message: Message) -> dict[str, Any]:
    """A message as the answer to a send and look-ups show it."""
    sms: Sms = message.content
    return {
        "id": message.id,
        "href": f"{HOME}/messages/{message.id}",
        "direction": "mt",
        "type": "sms",
        "originator": sms.originator,
        "body": message.text,
        "reference": sms.reference,
        "validity": sms.validity,
        "gateway": 10,
        "typeDetails": {},
        "datacoding": _datacoding(sms, message.text),
        "mclass": 1,
        "scheduledDatetime": None,
        "createdDatetime": _time(message.taken_at),
        "recipients": {
            "totalCount": 1,
            "totalSentCount": 1,
            "totalDeliveredCount": int(message.status == "delivered"),
            "totalDeliveryFailedCount": int(message.status == "delivery_failed"),
            "items": [_recipient(message)],
        },
    }


def page_of(messages: Sequence[Message], *, offset: int, limit: int, total: int) -> dict[str, Any]:
    return {
        "offset": offset,
        "limit": limit,
        "count": len(messages),
        "totalCount": total,
        "links": {"first": f"{HOME}/messages/?offset=0", "previous": None, "next": None, "last": None},
        "items": [record(message) for message in messages],
    }


def error(objection: Objection) -> dict[str, Any]:
    return {
        "errors": [
            {"code": objection.code, "description": objection.description, "parameter": objection.parameter},
        ]
    }


def report(message: Message, word: Word, at: float) -> dict[str, str]:
    """The parameters of a report, in the order of their names."""
    sms: Sms = message.content
    fields = {
        "id": message.id,
        "mccmnc": "310260",
        "ported": "0",
        "recipient": message.to.removeprefix("+"),
        "reference": sms.reference or "",
        "status": STATUSES[word],
        "statusDatetime": _time(at),
    }
    if word is Word.DELIVERED:
        fields["statusReason"] = "successfully delivered"
    if word is Word.UNDELIVERABLE:
        fields["statusErrorCode"] = str(failure(message))
    return dict(sorted(fields.items()))


def failure(message: Message) -> int:
    """Why a message fails: its recipient wants none, or has no SMS, which is for good and yet no proof against the number."""
    return OPTED_OUT if message.role.name == "opted out" else NOT_PROVISIONED


def with_query(url: str, fields: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(fields)}"


def token(key: str, url: str, at: float) -> str:
    """MessageBird-Signature-JWT of a call without a body."""
    claims = {
        "iss": "MessageBird",
        "nbf": int(at),
        "exp": int(at) + TOKEN_SECONDS,
        "jti": str(uuid.uuid4()),
        "url_hash": hashlib.sha256(url.encode()).hexdigest(),
    }
    signed = f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded(claims)}"
    return f"{signed}.{_base64(hmac.digest(key.encode(), signed.encode(), 'sha256'))}"


def _recipient(message: Message) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "recipient": int(message.to.removeprefix("+")),
        "status": message.status,
        "statusDatetime": _time(message.updated_at),
        "messagePartCount": segment_count(message.text),
    }
    return shown if message.error_code is None else {**shown, "statusErrorCode": message.error_code}


def _datacoding(sms: Sms, text: str) -> str:
    if sms.datacoding != "auto":
        return sms.datacoding
    return "plain" if set(text) <= BASIC | EXTENDED else "unicode"


def _encoded(content: Mapping[str, Any]) -> str:
    return _base64(json.dumps(content, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).isoformat()
