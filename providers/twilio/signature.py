"""How Twilio signs its webhooks: an HMAC of the URL and the form, as in the Python SDK 9.13.

https://www.twilio.com/docs/usage/webhooks/webhooks-security (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from providers import reading
from providers.callback_urls import parameters
from providers.errors import InvalidSignature, MalformedWebhook
from providers.messages import Headers, WebhookRequest
from providers.signatures import Pairs, form_pairs, form_text, is_hmac, is_sha256, url_forms

SIGNATURE = "X-Twilio-Signature"
SIGNATURE_SETTINGS = "X-Twilio-Webhooks-Signature-Settings"
DIGESTS = {"HMAC_SHA1": "sha1", "HMAC_SHA256": "sha256"}


def genuine_fields(request: WebhookRequest, credentials: Mapping[str, str]) -> Mapping[str, Any]:
    """Check the signature, then read the form or the JSON. Raises InvalidSignature, MalformedWebhook."""
    headers = Headers(request.headers)
    body_hash = parameters(request.url).get("bodySHA256")
    if body_hash is not None and "form" not in headers.get("Content-Type", ""):
        if not _is_signed(request.url, [b""], headers, credentials) or not is_sha256(body_hash, request.body):
            raise InvalidSignature("the signature or the hash of the body is wrong")
        if (fields := reading.json_object(request.body)) is None:
            raise MalformedWebhook("the callback is no JSON object")
        return fields
    pairs = form_pairs(request.body)
    decoded = [(form_text(name), form_text(value)) for name, value in pairs]
    # Whether they sign a text that is not UTF-8 as the bytes it is or as the letters it shows is not documented.
    readings = {_signed(pairs), _signed([(name.encode(), value.encode()) for name, value in decoded])}
    if not _is_signed(request.url, readings, headers, credentials):
        raise InvalidSignature("the signature is missing or wrong")
    return dict(decoded)


def _is_signed(url: str, readings: Iterable[bytes], headers: Mapping[str, str], credentials: Mapping[str, str]) -> bool:
    """Check a signature: HMAC-SHA1 by the auth token, or as the settings header says, e.g. key=…,algorithm=HMAC_SHA256."""
    key, algorithm = credentials.get("auth_token", ""), "HMAC_SHA1"
    if settings := headers.get(SIGNATURE_SETTINGS):
        key = credentials.get("webhook_secret", "")
        named = dict(part.strip().split("=", 1) for part in settings.split(",") if "=" in part)
        algorithm = named.get("algorithm", algorithm).upper()
    if algorithm not in DIGESTS:
        return False
    signed = [form.encode(errors="replace") + text for form in url_forms(url) for text in readings]
    return is_hmac(headers.get(SIGNATURE, ""), signed, key, DIGESTS[algorithm])


def _signed(pairs: Pairs) -> bytes:
    """Join names and values as they are signed: sorted, each pair once."""
    return b"".join(name + value for name, value in sorted(set(pairs)))
