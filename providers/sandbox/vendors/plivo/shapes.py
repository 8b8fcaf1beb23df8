"""Plivo's JSON and forms, field by field as in tests/providers/payloads/plivo/, and the signatures of its webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.segments import segment_count

RATE = 0.0055
POWERPACK_SENDER = "15005550006"  # whom every powerpack picks
SEQUENCES = {"sent": 2, "failed": 2, "delivered": 3, "undelivered": 3}  # 1 is "queued", which is not reported here
STATES = {Word.SENT: "sent", Word.DELIVERED: "delivered", Word.UNDELIVERABLE: "undelivered"}


@dataclass(frozen=True, slots=True)
class Sms:
    auth_id: str
    sender: str | None
    powerpack: str | None
    callback_url: str | None
    method: str


def sender_of(message: Message) -> str:
    sms: Sms = message.content
    return sms.sender or POWERPACK_SENDER


def taken(uuids: Sequence[str]) -> dict[str, Any]:
    return {"api_id": _api_id(), "message": "message(s) queued", "message_uuid": list(uuids)}


def none_taken(number: str) -> dict[str, Any]:
    """What a call comes to whose only number is none. The shape is that of many numbers of which some are none."""
    return {**taken([]), "invalid_number": [number]}


def error(text: str) -> dict[str, str]:
    return {"api_id": _api_id(), "error": text}


def record(message: Message) -> dict[str, Any]:
    sms: Sms = message.content
    units = segment_count(message.text)
    return {
        "error_code": None if message.error_code is None else f"{message.error_code:03}",
        "error_message": "",
        "from_number": sender_of(message),
        "message_direction": "outbound",
        "message_sent_time": None if message.sent_at is None else _time(message.sent_at) + "+00:00",
        "message_state": message.status,
        "message_time": datetime.fromtimestamp(int(message.taken_at), UTC).isoformat(" "),
        "message_type": "sms",
        "message_updated_time": _time(message.updated_at) + "+00:00",
        "message_uuid": message.id,
        "resource_uri": f"/v1/Account/{sms.auth_id}/Message/{message.id}/",
        "to_number": message.to.removeprefix("+"),
        "total_amount": f"{RATE * units:.5f}",
        "total_rate": f"{RATE:.5f}",
        "units": units,
    }


def one(message: Message) -> dict[str, Any]:
    return {"api_id": _api_id(), **record(message)}


def page_of(
    messages: Sequence[Message], *, path: str, filters: Mapping[str, str], limit: int, offset: int, total: int
) -> dict[str, Any]:
    def link(start: int) -> str:
        return f"{path}?{urlencode({**filters, 'limit': limit, 'offset': start})}"

    meta = {
        "limit": limit,
        "next": link(offset + limit) if offset + limit < total else None,
        "offset": offset,
        "previous": link(max(offset - limit, 0)) if offset else None,
        "total_count": total,
    }
    return {"api_id": _api_id(), "meta": meta, "objects": [record(message) for message in messages]}


def report(message: Message, word: Word, state: str) -> dict[str, str]:
    """The fields of a status callback."""
    units = segment_count(message.text)
    is_final = word is not Word.SENT
    known_at = dict(message.reached).get(word, message.updated_at)
    return {
        "DeliveryReportTime": _time(known_at) if is_final else "",
        "ErrorCode": f"{message.error_code or 0:03}" if is_final else "",
        "From": sender_of(message),
        "MCC": "262",
        "MNC": "01",
        "MessageTime": _time(message.taken_at),
        "MessageUUID": message.id,
        "ParentMessageUUID": message.id,
        "PartInfo": "1 of 1",
        "PowerpackUUID": message.content.powerpack or "",
        "QueuedTime": _time(message.taken_at),
        "SentTime": "" if message.sent_at is None else _time(message.sent_at),
        "Sequence": str(SEQUENCES[state]),
        "Status": state,
        "To": message.to.removeprefix("+"),
        "TotalAmount": f"{RATE * units:.4f}",
        "TotalRate": f"{RATE:.4f}",
        "Type": "sms",
        "Units": str(units),
    }


def signed(auth_token: str, method: str, url: str, fields: Mapping[str, str], nonce: str) -> dict[str, str]:
    """The signature headers of a callback, versions 2 and 3. By GET the fields are in the query already."""
    base, _, query = url.partition("?")
    asked = "&".join(f"{name}={value}" for name, value in sorted(parse_qsl(query, keep_blank_values=True)))
    told = "" if method == "GET" else "".join(name + fields[name] for name in sorted(fields))
    text = base
    if asked or told:
        text += f"?{asked}" + ("." if asked and told else "") + told
    return {
        "X-Plivo-Signature-V2": _proof(auth_token, base + nonce),
        "X-Plivo-Signature-V2-Nonce": nonce,
        "X-Plivo-Signature-V3": _proof(auth_token, f"{text}.{nonce}"),
        "X-Plivo-Signature-V3-Nonce": nonce,
    }


def _proof(auth_token: str, text: str) -> str:
    return base64.b64encode(hmac.digest(auth_token.encode(), text.encode(), hashlib.sha256)).decode()


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def _api_id() -> str:
    return str(uuid.uuid4())
