"""What a client may ask for: the one validator of every way in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

from django.conf import settings
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
)

from notifications.addresses import InvalidAddress, normalise, redact
from notifications.devices import device
from notifications.lanes import Priority
from notifications.models import Category, OnUnclear
from notifications.numbers import BODY_BYTES
from notifications.services.mail_fields import SUBJECT_CHARACTERS, Email
from notifications.services.shape import OneLine, Strict, no
from providers.messages import Channel
from providers.pushes import RECEIPT

SMS_TEXT_CHARACTERS = 1600
PUSH_TEXT_CHARACTERS = 4000
PUSH_DATA_BYTES = 2048  # as JSON; cut, it would break the app, so it is refused
DEVICES = 20  # of one recipient
WEBHOOK_BYTES = 256 * 1024  # of its JSON
KEY_CHARACTERS = 200
METADATA_BYTES = 4096
NESTING_LEVELS = 32  # of objects and lists
SEND_AT_DAYS = 366  # how far ahead a notification may be scheduled
EXPIRES_AT_DAYS = 366  # how long after that it may be useful; a year 10,000 could be stored but never be read again

Shape = TypeVar("Shape", bound=BaseModel)
MOMENT = "an aware datetime, e.g. 2027-01-15T10:00:00+00:00"


@dataclass(frozen=True, slots=True)
class FieldError:
    """Why one field was refused, and what is accepted there."""

    field: str
    reason: str
    accepted: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason} (accepted: {self.accepted})"


class Refused(ValueError):
    """A request that cannot be accepted. Nothing of it is stored. Holds no address and no text."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = errors


def _written_out(value: Any) -> Any:
    """Numbers are no moments: pydantic would guess whether they mean seconds or milliseconds."""
    if isinstance(value, datetime) or (isinstance(value, str) and ":" in value):
        return value
    raise no("is not a moment", MOMENT)


def _aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise no("has no time zone", MOMENT)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise no("is out of range", MOMENT) from None


def _as_small_json(value: dict[str, Any], limit: int) -> dict[str, Any]:
    try:
        size = len(json.dumps(value, allow_nan=False).encode())
    except (TypeError, ValueError):
        raise no("is not JSON", "an object of JSON values") from None
    if size > limit:
        raise no("is too large", f"at most {limit} bytes as JSON")
    return value


Moment = Annotated[datetime, BeforeValidator(_written_out), AfterValidator(_aware)]


class Sms(Strict):
    text: Annotated[str, Field(min_length=1, max_length=SMS_TEXT_CHARACTERS)]


class Push(Strict):
    """What a device shows, and `data` for the app: strings by name."""

    text: Annotated[str, Field(min_length=1, max_length=PUSH_TEXT_CHARACTERS)]
    title: Annotated[str, Field(max_length=SUBJECT_CHARACTERS), OneLine] | None = None
    data: dict[str, str] = Field(default_factory=dict)

    @field_validator("data")
    @classmethod
    def _fits(cls, value: dict[str, str]) -> dict[str, str]:
        if len(json.dumps(value, ensure_ascii=False).encode()) > PUSH_DATA_BYTES:
            raise no("is too large", f"at most {PUSH_DATA_BYTES} bytes as JSON")
        if RECEIPT in value:
            raise no(f"uses {RECEIPT!r}, the name under which an app finds its receipt", "any other name")
        return value


class Webhook(Strict):
    """An event: what kind of event it is, and what is told of it."""

    type: Annotated[str, Field(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*$", max_length=100)]
    data: dict[str, Any]

    @field_validator("data")
    @classmethod
    def _is_small(cls, value: dict[str, Any]) -> dict[str, Any]:
        return _as_small_json(value, WEBHOOK_BYTES)


class Content(Strict):
    sms: Sms | None = None
    email: Email | None = None
    push: Push | None = None
    webhook: Webhook | None = None


class Recipient(Strict):
    """One address per channel, of devices several; normalised."""

    sms: str | None = None
    email: str | None = None
    push: list[str] | None = None
    webhook: str | None = None

    @field_validator("push", mode="before")
    @classmethod
    def _are_devices(cls, value: Any) -> list[str] | None:
        given = value if isinstance(value, list) else [value]
        if not given or len(given) > DEVICES:
            raise no("has too many devices or none", f"1 to {DEVICES} devices")
        known = [device(item) if isinstance(item, str | Mapping) else None for item in given]
        if None in known:
            raise no(
                "is no device", "a push service and its token, e.g. fcm:TOKEN, or what a browser calls a subscription"
            )
        return [*dict.fromkeys(item for item in known if item is not None)]

    @field_validator("sms", "email", "webhook")
    @classmethod
    def _is_an_address(cls, value: str | None, info: Any) -> str | None:
        if value is None:
            return None
        try:
            return normalise(Channel(info.field_name), value, region=settings.DEFAULT_REGION)
        except InvalidAddress as error:
            raise no(error.reason, error.accepted) from None


class Terms(Strict):
    """How something is to be sent. Whether route and incident exist, and the times, are checked when it is accepted."""

    route: Annotated[str, Field(max_length=100)] | None = None
    priority: Priority = Priority.NORMAL
    category: Category = Category.TRANSACTIONAL
    reference: Annotated[str, Field(max_length=KEY_CHARACTERS), OneLine] | None = None
    incident: Annotated[str, Field(max_length=KEY_CHARACTERS)] | None = None
    send_at: Moment | None = None
    expires_at: Moment | None = None
    on_unclear: OnUnclear | None = None


class NewNotification(Terms):
    """A request by its shape."""

    to: Recipient
    content: Content
    idempotency_key: Annotated[str, Field(min_length=1, max_length=KEY_CHARACTERS)] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("metadata")
    @classmethod
    def _is_small(cls, value: dict[str, Any]) -> dict[str, Any]:
        return _as_small_json(value, METADATA_BYTES)

    def fingerprint(self) -> str:
        """Equal for equal requests: SHA-256 of the JSON with keys sorted, null as absent, 1.0 as 1."""
        return fingerprint(self.model_dump(mode="json", exclude={"idempotency_key"}))


def fingerprint(values: Any) -> str:
    """Equal for equal JSON: SHA-256 with keys sorted, null as absent, 1.0 as 1."""
    text = json.dumps(_canonical(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read(fields: Mapping[str, Any]) -> NewNotification:
    """Validate a request by its shape; a field that is null counts as absent. Raises Refused with every fault."""
    return read_as(NewNotification, fields)


def read_as(shape: type[Shape], fields: Mapping[str, Any]) -> Shape:
    """Validate fields by a shape; one that is null counts as absent. Raises Refused with every fault."""
    errors = [*unstorable(fields), *_too_large(fields)]
    if errors:
        raise Refused(errors)
    try:
        return shape.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        raise Refused(field_errors(error)) from None


def field_errors(error: ValidationError) -> list[FieldError]:
    """Pydantic's errors in our form."""
    return [_field_error(item) for item in error.errors(include_url=False)]


def _field_error(item: Mapping[str, Any]) -> FieldError:
    """Pydantic's error in our form. Its own words never quote the input."""
    context = item.get("ctx", {})
    accepted = str(context.get("accepted") or _accepted(item["type"], context))
    return FieldError(_name(item["loc"]), str(item["msg"]), accepted)


def _name(path: Iterable[Any]) -> str:
    """A field as it may be named in an answer: a client may have used an address, or what cannot be stored, as a key."""
    name = ".".join(redact(str(part)) for part in path)
    return name.encode(errors="replace").decode().replace("\0", "?") or "request"


def _accepted(kind: str, context: Mapping[str, Any]) -> str:
    match kind:
        case "missing":
            return "this field is required"
        case "extra_forbidden":
            return "no such field exists; see the list of fields of send()"
        case "enum":
            return str(context["expected"])
        case "string_too_long":
            return f"at most {context['max_length']} characters"
        case "string_too_short":
            return f"at least {context['min_length']} character"
        case "string_pattern_mismatch":
            return f"what fits {context['pattern']}"
        case "string_type":
            return "a string"
        case "bool_type":
            return "true or false"
        case "list_type":
            return "a list"
        case "too_long":
            return f"at most {context['max_length']} of them"
        case "model_type" | "dict_type":
            return "an object"
        case kind if kind.startswith("datetime"):
            return MOMENT
        case _:
            return "see the documentation of send()"


def time_errors(request: Terms, now: datetime) -> Iterator[FieldError]:
    """What is wrong with its times now; the same request may have been right when it was sent first."""
    first = request.send_at or now
    if request.send_at is not None and request.send_at < now:
        yield FieldError("send_at", "lies in the past", "a moment from now on, or nothing to send at once")
    elif first > now + timedelta(days=SEND_AT_DAYS):
        yield FieldError("send_at", "lies too far ahead", f"a moment within {SEND_AT_DAYS} days")
    if request.expires_at is not None and request.expires_at <= first:
        yield FieldError("expires_at", "is not after the sending begins", "a moment after `send_at`, or after now")
    elif request.expires_at is not None and request.expires_at > first + timedelta(days=EXPIRES_AT_DAYS):
        yield FieldError("expires_at", "lies too far ahead", f"a moment within {EXPIRES_AT_DAYS} days of the sending")


def _strings(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every text in a request, keys included, and where it is. Raises Refused where nothing could read it to its end."""
    if len(path) > NESTING_LEVELS:
        raise Refused([FieldError(_name(path[:1]), "is nested too deeply", f"at most {NESTING_LEVELS} levels")])
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield (*path, key), str(key)
            yield from _strings(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _strings(item, (*path, index))


def unstorable(fields: Mapping[str, Any]) -> Iterator[FieldError]:
    """The texts that neither PostgreSQL nor a provider could take."""
    for path, text in _strings(fields):
        if "\0" in text:
            yield FieldError(_name(path), "has a NUL character", "text without NUL characters")
        elif any("\ud800" <= character <= "\udfff" for character in text):
            yield FieldError(_name(path), "has half of a surrogate pair", "text that can be written as UTF-8")


def _too_large(fields: Mapping[str, Any]) -> Iterator[FieldError]:
    if sum(len(text.encode(errors="replace")) for _, text in _strings(fields)) > BODY_BYTES:
        yield FieldError("request", "is too large", f"at most {BODY_BYTES} bytes in all")


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
