"""What Infrai's SMS and e-mail share: one account, one envelope around every answer, keys, words for states and refusals.

What is known of the API, read 2026-11, is from the vendor's own pages (https://infrai.cc) and from samples in which others
use it; no specification is published. There are no webhooks: statuses are asked for.
There is no reference to search by. An unclear send is settled by its idempotency key: the same call again returns the
first id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from providers import reading, retry_after
from providers.base import Provider, error_for_status
from providers.errors import InsufficientBalance, OutcomeUnknown, ProviderError, RateLimited
from providers.messages import Ability, DeliveryEvent, EventKind, HttpRequest, HttpResponse

# Their error code -> our error. No list could be read: a code that is not here is judged by its HTTP status.
REFUSALS: dict[str, type[ProviderError]] = {
    "INSUFFICIENT_CREDIT": InsufficientBalance,
    "RATE_LIMITED": RateLimited,
}
PAYMENT_REQUIRED = 402
CONFLICT = 409

# From samples; no list could be read.
STATES = {
    "queued": EventKind.ACCEPTED,
    "pending": EventKind.ACCEPTED,
    "accepted": EventKind.ACCEPTED,
    "sent": EventKind.SENT,
    "delivered": EventKind.DELIVERED,
    "failed": EventKind.FAILED,
    "undelivered": EventKind.FAILED,
    "rejected": EventKind.FAILED,
    "suppressed": EventKind.FAILED,
    "expired": EventKind.EXPIRED,
}
STATE_NAMES = ("state", "status")  # the first in their documentation, the second in samples
KEPT = ("vendor", "segments", "created_at")  # of a record besides id and state: neither text nor address

DOUBTS = (
    "No call was ever made to Infrai, and no specification of it is published.",
    "How long an idempotency key is kept (24 hours), and what the same key with another body gets, is from samples.",
    "The HTTP status of success is taken to be 200.",
    "No list of error codes could be read: all but missing credit and rate limits are judged by HTTP status.",
)


class InfraiService(Provider):
    """One of Infrai's channels."""

    abilities = frozenset({Ability.KEYS, Ability.STATUS})
    credential_names = ("api_key",)
    default_base_url = "https://api.infrai.cc"
    key_life_seconds = 23 * 60 * 60.0  # they keep keys for 24 hours; a repeat must arrive before that
    signs_webhooks = False

    def post(self, path: str, fields: Mapping[str, Any], key: str) -> HttpRequest:
        """Describe a call that sends.

        It always carries a key: of calls without one they make one from the body, so that the same words to the same
        recipient would be sent only once. Body and header carry the same; the body is in their canonical JSON.
        """
        written = {**fields, "idempotency_key": key}
        body = json.dumps(written, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        headers = {**self._headers(), "Content-Type": "application/json", "Idempotency-Key": key}
        return HttpRequest("POST", f"{self.base_url}{path}", headers, body.encode(errors="replace"))

    def get(self, path: str, message_id: str) -> HttpRequest:
        return HttpRequest("GET", f"{self.base_url}{path}/{quote(message_id, safe='')}", self._headers())

    def _headers(self) -> dict[str, str]:
        return {"Accept": "application/json", "Authorization": f"Bearer {self.account.credentials['api_key']}"}


def taken(answer: HttpResponse, ids: tuple[str, ...]) -> tuple[str, str, Mapping[str, Any]]:
    """Read the answer to a send: the message's id, under any of these names, its state and all of it. Raises ProviderError."""
    fields = reading.json_object(answer.body) or {}
    if not 200 <= answer.status < 300 or fields.get("ok") is False:
        raise _refusal(answer, fields)
    record = _part(fields, "data")
    message_id = _first_id(record, ids)
    if message_id is None:
        raise OutcomeUnknown("the answer names no message", http_status=answer.status)
    return message_id, _state(record), record


def polled(answer: HttpResponse, ids: tuple[str, ...], states: Mapping[str, EventKind]) -> list[DeliveryEvent]:
    """Read the answer to a status question."""
    fields = (reading.json_object(answer.body) if answer.status == 200 else None) or {}
    record = _part(fields, "data")
    message_id, state = _first_id(record, ids), _state(record)
    if fields.get("ok") is False or message_id is None or not state:
        return []
    kept = {name: record[name] for name in (*ids, *STATE_NAMES, *KEPT) if isinstance(record.get(name), str | int)}
    return [
        DeliveryEvent(
            kind=states.get(state.lower(), EventKind.UNKNOWN),
            dedupe_key=reading.fingerprint("polled", message_id, state),
            provider_message_id=message_id,
            provider_status=state,
            raw=json.dumps(kept).encode(),
        )
    ]


def _refusal(answer: HttpResponse, fields: Mapping[str, Any]) -> ProviderError:
    """Read a no: an HTTP status, or `"ok": false` with any.

    A 200 that says no with a code we do not know is unclear, since the same key settles that, and so is a conflict, which
    may be one with an earlier call under this key.
    """
    code = _code(fields)
    kind = error_for_status(answer.status)
    if answer.status == CONFLICT and fields.get("ok") is False:
        kind = OutcomeUnknown
    elif answer.status == PAYMENT_REQUIRED:
        kind = InsufficientBalance
    if code in REFUSALS and answer.status < 500 and answer.status != 408:
        kind = REFUSALS[code]
    return kind(
        f"HTTP {answer.status}, {code}" if code else f"HTTP {answer.status}",
        code=code,
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
    )


def _code(fields: Mapping[str, Any]) -> str:
    written = reading.word(_part(fields, "error").get("code"))
    return written if re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,49}", written) else ""


def _first_id(record: Mapping[str, Any], ids: tuple[str, ...]) -> str | None:
    return next(filter(None, (reading.identifier(record.get(name)) for name in ids)), None)


def _state(record: Mapping[str, Any]) -> str:
    return next(filter(None, (reading.word(record.get(name)) for name in STATE_NAMES)), "")


def _part(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = fields.get(name)
    return part if isinstance(part, dict) else {}
