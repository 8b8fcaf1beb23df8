"""Receipts of the Vonage SMS API: where their fields are, how they are signed, what they mean.

https://developer.vonage.com/en/getting-started/concepts/signing-messages (read 2026-11). An account's receipts come by GET,
as a form or as JSON, and are signed once support has switched that on; with which method, the account says.

Each part of a long text has a receipt of its own, and none says how many there are. So the number of parts travels in
the reference: <attempt id>-<number of parts>, or the attempt id alone where there is one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from providers import reading
from providers.callback_urls import query_of
from providers.messages import AttemptRef, DeliveryEvent, EventKind, WebhookRequest
from providers.signatures import Pairs, form_pairs, form_text, is_equal
from providers.vonage_shared import Record
from providers.vonage_sms.codes import FAILURES, RECEIPTS, SUPPRESS_RECEIPT

HMACS = {"hmac_md5": "md5", "hmac_sha1": "sha1", "hmac_sha256": "sha256", "hmac_sha512": "sha512"}
PLAIN_MD5 = "md5_hash"  # no HMAC: believed only where the account says that it is used

# A message of several parts is what the worst of them is.
WORST_FIRST = (EventKind.FAILED, EventKind.EXPIRED, EventKind.NOT_REACHED, EventKind.UNKNOWN, EventKind.SENT)

_REFERENCE = re.compile("([0-9a-f]{32}-[0-9]+)-([0-9]+)")
_SEPARATORS = bytes.maketrans(b"&=", b"__")


def reference(attempt: AttemptRef, parts: int) -> str:
    return attempt.id if parts == 1 else f"{attempt.id}-{parts}"


def attempt_in(reference: str) -> str:
    match = _REFERENCE.fullmatch(reference)
    return match[1] if match else reference


def parts_in(reference: str) -> int:
    match = _REFERENCE.fullmatch(reference)
    return int(match[2][:9]) if match else 1


def pairs_of(request: WebhookRequest) -> Pairs:
    """Read names and values as bytes, repeated names included."""
    if request.method == "GET":
        return form_pairs(raw_of(request))
    fields = reading.json_object(request.body)
    if fields is None:
        return form_pairs(request.body)
    return [(name.encode(errors="replace"), _text(value).encode(errors="replace")) for name, value in fields.items()]


def raw_of(request: WebhookRequest) -> bytes:
    """What they sent: the query of a GET, else the body."""
    return query_of(request.url).encode(errors="replace") if request.method == "GET" else request.body


def is_signed(pairs: Pairs, secret: str, method: str | None) -> bool:
    """Check `sig` by one method, or by any HMAC where none is named. An empty secret is never right."""
    given = form_text(dict(pairs).get(b"sig", b"")).lower()
    decoded = [(form_text(name).encode(), form_text(value).encode()) for name, value in pairs]
    # Whether they sign a text that is not UTF-8 as the bytes it is or as the letters it shows is not documented.
    texts = {_signed(pairs), _signed(decoded)}
    methods = HMACS if method is None else [method]
    right = [is_equal(given, proof) for text in texts for proof in _proofs(text, secret, methods)]
    return bool(secret) and any(right)


def part_event(fields: dict[str, str], raw: bytes) -> DeliveryEvent:
    """Read the receipt of a part."""
    own = reading.identifier(fields.get("client-ref")) or ""
    message_id, status = fields["messageId"], reading.word(fields["status"])
    code = reading.word(fields.get("err-code"), limit=50)
    parts = parts_in(own)
    kind = kind_of(status, code, parts)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint(message_id, status, code, "", reading.word(fields.get("scts"))),
        attempt=attempt_in(own) or None,
        provider_message_id=message_id,
        provider_status=status if parts == 1 else f"{status[:60]}, one of {parts} parts",
        error_code="" if code == "0" else code,
        occurred_at=reading.iso_time(fields.get("message-timestamp")),
        suppress=SUPPRESS_RECEIPT.get(code) if kind is EventKind.FAILED else None,
        raw=raw,
    )


def whole_event(records: Sequence[Record]) -> DeliveryEvent:
    """Sum up the records of a message's parts. It is delivered when each of them is, and all are on record."""
    ids = sorted({record.id for record in records})
    own = records[0].reference
    parts = max(parts_in(own), len(ids))
    kinds = {record: kind_of(record.status, record.error_code, parts) for record in records}
    telling = min(records, key=lambda record: _rank(kinds[record]))
    delivered = {record.id for record in records if RECEIPTS.get(record.status.lower()) is EventKind.DELIVERED}
    kind = EventKind.DELIVERED if len(delivered) == parts else kinds[telling]
    code = "" if telling.error_code == "0" else telling.error_code
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint("polled", *ids, kind, telling.status, code),
        attempt=attempt_in(own) or None,
        provider_message_id=telling.id,
        provider_status=telling.status
        if parts == 1
        else f"{telling.status[:60]}, {len(delivered)} of {parts} delivered",
        error_code=code,
        occurred_at=telling.finalized_at,
        suppress=SUPPRESS_RECEIPT.get(code) if kind is EventKind.FAILED else None,
        raw=b"\n".join(record.raw for record in records),
    )


def kind_of(status: str, code: str, parts: int) -> EventKind:
    """Say what the report about one of so many parts means for the whole.

    One of several that arrived has not delivered the text, and one that did not has failed it for good: to send all of
    it again would repeat what is on the phone.
    """
    kind = RECEIPTS.get(status.lower(), EventKind.UNKNOWN)
    if kind is EventKind.FAILED:
        kind = FAILURES.get(code, kind)
    if parts > 1 and kind is EventKind.DELIVERED:
        return EventKind.SENT
    if parts > 1 and kind is EventKind.NOT_REACHED:
        return EventKind.FAILED
    return kind


def _rank(kind: EventKind) -> int:
    return WORST_FIRST.index(kind) if kind in WORST_FIRST else len(WORST_FIRST)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _signed(pairs: Pairs) -> bytes:
    """Join names and values as they are signed: in the order of names, & and = in values replaced."""
    fields = sorted((name, value.translate(_SEPARATORS)) for name, value in pairs if name != b"sig")
    return b"".join(b"&" + name + b"=" + value for name, value in fields)


def _proofs(text: bytes, secret: str, methods: Iterable[str]) -> list[str]:
    proofs = [hmac.digest(secret.encode(), text, HMACS[method]).hex() for method in methods if method in HMACS]
    if PLAIN_MD5 in methods:
        proofs.append(hashlib.md5(text + secret.encode()).hexdigest())  # noqa: S324  theirs
    return proofs
