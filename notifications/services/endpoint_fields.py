"""What may be said of an endpoint: its name, its address, what it hears of, and the headers it wants."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from django.conf import settings
from pydantic import AfterValidator, Field, StrictBool

from notifications.addresses import InvalidAddress, normalise
from notifications.services.events import KINDS, TYPES
from notifications.services.request import FieldError, Refused, read_as
from notifications.services.shape import Strict, no
from providers.errors import AddressForbidden
from providers.messages import Channel
from providers.transport.foreign import ForeignRules

URL_CHARACTERS = 2000
EVENT_TYPES = 50
HEADERS = 20
LOOK_UP_SECONDS = 2.0

# What a call has anyway, or would break it; in lower case, as they are compared.
OUR_HEADERS = {
    *("host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "keep-alive"),
    *("te", "trailer", "upgrade", "expect", "accept-encoding", "user-agent", "x-hub-signature-256"),
}
OUR_BEGINNINGS = ("webhook-", "proxy-")

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,49}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,998}[\x21-\x7e])?")

# As getaddrinfo answers, within so many seconds; whatever it raises, the name is not known now.
LookUp = Callable[[str, int, float], Sequence[Any]]


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise no("is no name", "1 to 50 small letters, digits and hyphens, the first no hyphen")
    return value


def _url(value: str) -> str:
    """What is wrong with it whatever its name resolves to."""
    if fault := _rules().url_fault(value):
        raise no(_said(fault), "https://host/path, in ASCII and without a password; the port as the operator allows it")
    return value


def _event_type(value: str) -> str:
    if value not in TYPES and value not in KINDS:
        raise no("is no type of event", ", ".join((*KINDS, *TYPES)))
    return value


def _email(value: str) -> str:
    try:
        return normalise(Channel.EMAIL, value) if value else ""
    except InvalidAddress as error:
        raise no(error.reason, error.accepted) from None


def _headers(value: dict[str, str]) -> dict[str, str]:
    """Only what can be written on the wire: http.client would raise, or garble, when the event is sent."""
    if len({name.lower() for name in value}) < len(value):
        raise no("has a name twice", "each name once, whatever its capitals")
    for name, text in value.items():
        if not _HEADER_NAME.fullmatch(name):
            raise no("has a name that is none", "names of letters, digits and hyphens")
        if name.lower() in OUR_HEADERS or name.lower().startswith(OUR_BEGINNINGS):
            raise no("has a header that is ours", f"none of {', '.join(sorted(OUR_HEADERS))}, webhook-* and proxy-*")
        if not _HEADER_VALUE.fullmatch(text):
            raise no("has a value that cannot be sent", "1 to 1000 visible ASCII characters, and blanks between them")
    return value


Url = Annotated[str, Field(min_length=1, max_length=URL_CHARACTERS), AfterValidator(_url)]
EventTypes = Annotated[list[Annotated[str, AfterValidator(_event_type)]], Field(max_length=EVENT_TYPES)]
OwnerEmail = Annotated[str, AfterValidator(_email)]
OwnHeaders = Annotated[dict[str, str], Field(max_length=HEADERS), AfterValidator(_headers)]


class NewEndpoint(Strict):
    """An endpoint to be made. Without `event_types` it hears of everything; `owner_email` is told when it fails."""

    name: Annotated[str, AfterValidator(_name)]
    url: Url
    event_types: EventTypes = Field(default_factory=list)
    owner_email: OwnerEmail = ""
    headers: OwnHeaders = Field(default_factory=dict)


class EndpointChanges(Strict):
    """What is to be another; what is not named stays."""

    url: Url | None = None
    event_types: EventTypes | None = None
    owner_email: OwnerEmail | None = None
    headers: OwnHeaders | None = None
    is_on: StrictBool | None = None


def read_new(fields: Mapping[str, Any], look_up: LookUp) -> NewEndpoint:
    """Validate a new endpoint. Raises Refused with every fault."""
    new = read_as(NewEndpoint, fields)
    _require_public(new.url, look_up)
    return new


def read_changes(fields: Mapping[str, Any], look_up: LookUp) -> EndpointChanges:
    """Validate changes. Raises Refused with every fault."""
    changes = read_as(EndpointChanges, fields)
    if changes.url is not None:
        _require_public(changes.url, look_up)
    return changes


def _require_public(url: str, look_up: LookUp) -> None:
    """Say now what every call would find. A name that cannot be resolved now may be on its way: it passes. Raises Refused."""
    parts = urlsplit(url)
    try:
        found = look_up(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), LOOK_UP_SECONDS)
    except Exception:
        return
    try:
        _rules().allowed(found)
    except AddressForbidden as error:
        accepted = "a host that is public, or in a network that the operator allows (WEBHOOK_NETWORKS)"
        raise Refused([FieldError("url", _said(error.detail), accepted)]) from None


def _rules() -> ForeignRules:
    rules: ForeignRules = settings.WEBHOOKS
    return rules


def _said(fault: str) -> str:
    """To follow the field's name."""
    return fault.removeprefix("the address ")
