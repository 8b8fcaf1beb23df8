"""What a client may ask for: the one validator of every way in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self, TypeVar

from django.conf import settings
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from notifications.addresses import InvalidAddress, normalise, redact
from notifications.lanes import Priority
from notifications.models import Category, OnUnclear
from notifications.numbers import BODY_BYTES
from providers.messages import Channel

SMS_TEXT_CHARACTERS = 1600
SUBJECT_CHARACTERS = 200
HTML_BYTES = 500_000
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


def _no(reason: str, accepted: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{reason}", {"reason": reason, "accepted": accepted})


def _written_out(value: Any) -> Any:
    """Numbers are no moments: pydantic would guess whether they mean seconds or milliseconds."""
    if isinstance(value, datetime) or (isinstance(value, str) and ":" in value):
        return value
    raise _no("is not a moment", MOMENT)


def _aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise _no("has no time zone", MOMENT)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise _no("is out of range", MOMENT) from None


def _one_line(value: str) -> str:
    if any(character in value for character in "\r\n"):
        raise _no("has a line break", "one line")
    return value


Moment = Annotated[datetime, BeforeValidator(_written_out), AfterValidator(_aware)]
OneLine = AfterValidator(
    _one_line
)  # behind the limits of a field: before them it would hide that they count characters


class Strict(BaseModel):
    """Frozen, and no field that is not declared."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Sms(Strict):
    text: Annotated[str, Field(min_length=1, max_length=SMS_TEXT_CHARACTERS)]


class Email(Strict):
    """At least one of `text` and `html`."""

    subject: Annotated[str, Field(min_length=1, max_length=SUBJECT_CHARACTERS), OneLine]
    text: str | None = None
    html: str | None = None

    @model_validator(mode="after")
    def _has_a_body_within_the_limit(self) -> Self:
        if not self.text and not self.html:
            raise _no("has no body", "`text`, `html` or both")
        for body in (self.text, self.html):
            if body and len(body.encode()) > HTML_BYTES:
                raise _no("is too large", f"at most {HTML_BYTES} bytes each for `text` and `html`")
        return self


class Content(Strict):
    sms: Sms | None = None
    email: Email | None = None


class Recipient(Strict):
    """One address per channel, normalised."""

    sms: str | None = None
    email: str | None = None

    @field_validator("sms", "email")
    @classmethod
    def _is_an_address(cls, value: str | None, info: Any) -> str | None:
        if value is None:
            return None
        try:
            return normalise(Channel(info.field_name), value, region=settings.DEFAULT_REGION)
        except InvalidAddress as error:
            raise _no(error.reason, error.accepted) from None


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
        try:
            size = len(json.dumps(value, allow_nan=False).encode())
        except (TypeError, ValueError):
            raise _no("is not JSON", "an object of JSON values") from None
        if size > METADATA_BYTES:
            raise _no("is too large", f"at most {METADATA_BYTES} bytes as JSON")
        return value

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
        case "string_type":
            return "a string"
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
