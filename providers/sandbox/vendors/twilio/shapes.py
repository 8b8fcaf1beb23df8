"""Twilio's JSON, field by field as in its OpenAPI file and in shared/providers/examples/twilio/."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from time import gmtime, strftime
from typing import Any
from urllib.parse import quote_plus, urlencode

from providers.sandbox.book import Message
from providers.sandbox.segments import segment_count

VERSION = "2010-04-01"
PRICE_PER_SEGMENT = 0.0079
SERVICE_SENDER = "+15005550006"  # whom every messaging service picks


@dataclass(frozen=True, slots=True)
class Sms:
    account_sid: str
    sender: str | None
    service: str | None
    callback_url: str | None


def messages_path(account_sid: str) -> str:
    return f"/{VERSION}/Accounts/{account_sid}/Messages"


def sender_of(message: Message) -> str | None:
    """Who sent it; a messaging service that is still "accepted" has not picked its sender yet."""
    sms: Sms = message.content
    return sms.sender or (None if message.status == "accepted" else SERVICE_SENDER)


def resource(message: Message) -> dict[str, Any]:
    sms: Sms = message.content
    path = f"{messages_path(sms.account_sid)}/{message.id}"
    segments = 0 if message.status == "accepted" else segment_count(message.text)
    return {
        "account_sid": sms.account_sid,
        "api_version": VERSION,
        "body": message.text,
        "date_created": rfc_2822(int(message.taken_at)),
        "date_sent": None if message.sent_at is None else rfc_2822(int(message.sent_at)),
        "date_updated": rfc_2822(int(message.updated_at)),
        "direction": "outbound-api",
        "error_code": message.error_code,
        "error_message": None,
        "from": sender_of(message),
        "messaging_service_sid": sms.service,
        "num_media": "0",
        "num_segments": str(segments),
        "price": None if message.sent_at is None else f"{-PRICE_PER_SEGMENT * segments:.5f}",
        "price_unit": "USD",
        "sid": message.id,
        "status": message.status,
        "subresource_uris": {"media": f"{path}/Media.json"},
        "to": message.to,
        "uri": f"{path}.json",
    }


def page_of(
    messages: Sequence[Message], *, path: str, filters: Mapping[str, str], number: int, size: int, more: bool
) -> dict[str, Any]:
    """One page of a list. Addresses are relative to the host, as the vendor gives them, whatever the sandbox's own prefix."""

    def uri(page: int, token: str | None = None) -> str:
        query = {**filters, "PageSize": size, "Page": page} | ({"PageToken": token} if token else {})
        return f"{path}.json?{urlencode(query, quote_via=quote_plus)}"

    start = number * size
    return {
        "end": max(start + len(messages) - 1, 0),
        "first_page_uri": uri(0),
        "next_page_uri": uri(number + 1, f"PA{messages[-1].id}") if more else None,
        "page": number,
        "page_size": size,
        "previous_page_uri": uri(number - 1) if number else None,
        "messages": [resource(message) for message in messages],
        "start": start,
        "uri": uri(number),
    }


def error(status: int, code: int, message: str) -> dict[str, Any]:
    return {
        "code": code,
        "message": message,
        "more_info": f"https://www.twilio.com/docs/errors/{code}",
        "status": status,
    }


def report(message: Message, status: str, *, error_code: int | None, done_at: float | None) -> dict[str, str]:
    """The fields of a status callback."""
    sms: Sms = message.content
    fields = {
        "AccountSid": sms.account_sid,
        "ApiVersion": VERSION,
        "From": sms.sender or SERVICE_SENDER,
        "MessageSid": message.id,
        "MessageStatus": status,
        "SmsSid": message.id,
        "SmsStatus": status,
        "To": message.to,
    }
    if sms.service:
        fields["MessagingServiceSid"] = sms.service
    if error_code is not None:
        fields["ErrorCode"] = str(error_code)
    if done_at is not None:
        fields["RawDlrDoneDate"] = _dlr_date(int(done_at))
    return fields


def signature(auth_token: str, url: str, fields: Mapping[str, str]) -> str:
    """X-Twilio-Signature of a form: HMAC-SHA1 over the URL as called and the fields in the order of their names."""
    text = url + "".join(name + fields[name] for name in sorted(fields))
    return base64.b64encode(hmac.digest(auth_token.encode(), text.encode(), hashlib.sha1)).decode()


@lru_cache(maxsize=4096)
def rfc_2822(seconds: int) -> str:
    return formatdate(seconds).removesuffix("-0000") + "+0000"


def _dlr_date(seconds: int) -> str:
    return strftime("%y%m%d%H%M", gmtime(seconds))
