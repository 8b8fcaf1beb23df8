"""Webhooks: believed and read by Anymail's views, then told in our words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from anymail.exceptions import AnymailWebhookValidationFailure
from django.core.handlers.wsgi import WSGIRequest
from django.utils.module_loading import import_string

from providers import reading
from providers.anymail.esps import BASIC, Esp
from providers.errors import InvalidSignature, MalformedWebhook
from providers.messages import DeliveryEvent, EventKind, WebhookRequest

# Anymail's word for an event -> what it means. Not listed and so without effect: autoresponded, subscribed, inbound.
KINDS = {
    "queued": EventKind.ACCEPTED,
    "sent": EventKind.SENT,
    "deferred": EventKind.SENT,  # they are still trying
    "delivered": EventKind.DELIVERED,
    "opened": EventKind.DELIVERED,
    "clicked": EventKind.DELIVERED,
    "bounced": EventKind.NOT_REACHED,  # unless the vendor's own word is that it is for good
    "rejected": EventKind.FAILED,
    "failed": EventKind.FAILED,
    "complained": EventKind.COMPLAINED,
    "unsubscribed": EventKind.OPTED_OUT,
}
_passing = re.compile(r"\b(?:4\.\d{1,3}\.\d{1,3}|5\.2\.2)\b")  # a full mailbox is not for ever
# What says that the mail was at fault, or who sent it: nothing is proven of the address.
_policy = re.compile(r"\b5\.(?:7\.\d{1,3}|2\.3|3\.4|6\.\d{1,3})\b")
_enhanced = re.compile(r"\b[45]\.\d{1,3}\.\d{1,3}\b")
_attempt = re.compile(r"[0-9a-f]{32}-[0-9]{1,4}")


def believe(esp: Esp, call: WebhookRequest, credentials: Mapping[str, str], url: str) -> list[DeliveryEvent]:
    """Check that a call is genuine, then translate it. Raises InvalidSignature, MalformedWebhook."""
    try:
        view, request = _view(esp, credentials, url), _as_django(call)
        view.run_validators(request)
    except InvalidSignature:
        raise
    except AnymailWebhookValidationFailure:
        raise InvalidSignature("Anymail does not believe it") from None
    except Exception:  # whatever a body makes somebody else's code stumble over: it has not proven anything
        raise InvalidSignature("Anymail cannot read its proof") from None
    if esp.is_json_only and request.content_type != "application/json":
        raise MalformedWebhook("what a mail carries is mixed with the report's own fields")
    try:
        told = view.parse_events(request)
    except Exception:
        raise MalformedWebhook("Anymail cannot read it") from None
    events = [event for one in told if (event := _event(esp, one, call.body if len(told) == 1 else None)) is not None]
    if told and not events:
        raise MalformedWebhook("the webhook names no message")
    return events


def _view(esp: Esp, credentials: Mapping[str, str], url: str) -> Any:
    """Raises InvalidSignature where nothing could prove a call."""
    proof = credentials.get(esp.proof) or ""
    user = credentials.get("webhook_user") or ""
    if not esp.view or not proof or (esp.proof == BASIC and not user):
        raise InvalidSignature("no credential proves a call")
    secret = f"{user}:{proof}" if esp.proof == BASIC else []
    options = {} if esp.proof == BASIC else {esp.proof: proof}
    if esp.proof == "webhook_key":
        options["webhook_url"] = url  # what the vendor signed, whatever stands between
    return import_string(esp.view)(webhook_secret=secret, **options)


def _as_django(call: WebhookRequest) -> WSGIRequest:
    """What of a call its views look at. Where it arrived is none of it."""
    environ = {
        "REQUEST_METHOD": call.method,
        "PATH_INFO": "/",
        "wsgi.input": BytesIO(call.body),
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in call.headers.items()},
    }
    environ["CONTENT_TYPE"] = environ.pop("HTTP_CONTENT_TYPE", "")
    environ["CONTENT_LENGTH"] = str(len(call.body))
    return WSGIRequest(environ)


def _event(esp: Esp, told: Any, body: bytes | None) -> DeliveryEvent | None:
    """What Anymail read, in our words; None where it names no message."""
    attempt, message_id = _attempt_of(esp, told), reading.identifier(told.message_id)
    if attempt is None and message_id is None:
        return None
    raw = body if body is not None else json.dumps(told.esp_event, default=str).encode()
    answer = told.mta_response if isinstance(told.mta_response, str) else ""
    kind = _kind(esp, told, answer)
    code = _enhanced.search(answer)
    word = reading.word(_at(told.esp_event, esp.word)) or reading.word(told.event_type)
    return DeliveryEvent(
        kind=kind,
        dedupe_key=reading.fingerprint(attempt, message_id, word, str(told.timestamp or raw.hex())),
        attempt=attempt,
        provider_message_id=message_id,
        provider_status=word,
        error_code=code[0] if code else reading.word(told.reject_reason, limit=50),
        occurred_at=told.timestamp if told.timestamp is not None and told.timestamp.tzinfo is not None else None,
        suppress=_suppress(kind, answer),
        raw=raw,
    )


def _kind(esp: Esp, told: Any, answer: str) -> EventKind:
    kind = KINDS.get(str(told.event_type), EventKind.UNKNOWN)
    path, words = esp.hard
    is_for_good = _at(told.esp_event, path) in words and not _passing.search(answer)
    return EventKind.BOUNCED if kind is EventKind.NOT_REACHED and is_for_good else kind


def _suppress(kind: EventKind, answer: str) -> str | None:
    if kind is EventKind.COMPLAINED:
        return "complaint"
    return "hard_bounce" if kind is EventKind.BOUNCED and not _policy.search(answer) else None


def _attempt_of(esp: Esp, told: Any) -> str | None:
    """Our attempt id: what else a mail carries is not looked at."""
    if esp.carries_metadata:
        candidates = [told.metadata.get("attempt")] if isinstance(told.metadata, Mapping) else []
    else:
        candidates = told.tags if isinstance(told.tags, list) else []
    return next((one for one in candidates if isinstance(one, str) and _attempt.fullmatch(one)), None)


def _at(report: Any, path: str) -> Any:
    for name in path.split("."):
        report = report.get(name) if isinstance(report, Mapping) else None
    return report
