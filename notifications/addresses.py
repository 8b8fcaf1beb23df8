"""Addresses: read, normalised, hashed, masked."""

from __future__ import annotations

import hmac
import json
import re
from unicodedata import normalize

import idna
import phonenumbers
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberFormat, ValidationResult

from notifications.devices import device
from notifications.sms.kinds import country_of, is_short, planned
from providers.messages import Channel

ADDRESS_LIMIT = 254  # bytes of an e-mail address, RFC 5321 section 4.5.3


class InvalidAddress(ValueError):
    """`reason` and what is `accepted`; never the address itself."""

    def __init__(self, reason: str, accepted: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.accepted = accepted


def normalise(channel: Channel, address: str, *, region: str | None = None) -> str:
    """The one spelling of an address: E.164, or an e-mail address with its domain as DNS knows it. Raises InvalidAddress.

    A phone number must be possible: of a length that its country has. Whether it is in use only its provider knows, and
    numbering plans change. Nothing is guessed: letters are not read as a keypad's digits, and no extension is cut off.
    """
    return _READERS[channel](address, region)


def _phone_number(text: str, region: str | None) -> str:
    if _is_written_out(text):
        return text
    accepted = "a phone number in international form, e.g. +4915112345678"
    try:
        number = phonenumbers.parse(text, region)
    except NumberParseException as error:
        raise InvalidAddress("not a phone number", accepted) from error
    if number.extension or any(character.isalpha() for character in text):
        raise InvalidAddress("not a phone number", accepted)
    if is_short(text, region):
        raise InvalidAddress("is a short number, which only its own country's networks know", accepted)
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        raise _impossible(number, accepted)
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


_OLD_MEXICAN = re.compile(r"\+521[0-9]{10}")


def _impossible(number: PhoneNumber, accepted: str) -> InvalidAddress:
    if _OLD_MEXICAN.fullmatch(phonenumbers.format_number(number, PhoneNumberFormat.E164)):
        return InvalidAddress("has the 1 behind +52 that Mexico abolished in 2019", "the number without it")
    return InvalidAddress("no number of this length exists there", accepted)


_E164 = re.compile(r"\+[1-9][0-9]{6,14}")


def _is_written_out(text: str) -> bool:
    """Whether a phone number is in E.164 already, so that parsing it changes nothing. Takes a tenth of the time."""
    if not _E164.fullmatch(text) or (found := planned(text[1:])) is None:
        return False
    plan, national = found
    return len(national) in plan.lengths and national[0] != "0" and not plan.changes(national)


_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def _email(text: str, region: str | None) -> str:
    """Of several spellings of a mailbox or a domain one is kept, so that an address is suppressed however it is written."""
    accepted = "one e-mail address, e.g. ana@example.org"
    local, _, domain = text.rpartition("@")
    if not text.isascii():
        local, domain = _composed(local, accepted), _ascii_domain(domain, accepted)
    address = f"{local}@{domain.lower()}"
    if len(address.encode()) > ADDRESS_LIMIT:
        raise InvalidAddress("not an e-mail address we can send to", accepted)
    try:
        # A mailbox may have letters beyond ASCII wherever it may have an x: RFC 6531.
        validate_email(address if address.isascii() else _BEYOND_ASCII.sub("x", address))
    except ValidationError as error:
        raise InvalidAddress("not an e-mail address", accepted) from error
    return address


def _composed(local: str, accepted: str) -> str:
    """A mailbox with each of its letters as one character, and nothing in it that is invisible."""
    composed = normalize("NFC", local)
    if not composed.isprintable():
        raise InvalidAddress("not an e-mail address", accepted)
    return composed


def _ascii_domain(domain: str, accepted: str) -> str:
    """A domain by IDNA 2008. By the older rules, which Python and Django know, straße.example is somebody else's."""
    try:
        return idna.encode(domain, uts46=True).decode()
    except UnicodeError as error:
        raise InvalidAddress("no domain of this name can exist", accepted) from error


def _device(text: str, region: str | None) -> str:
    if (known := device(text)) is None:
        raise InvalidAddress("not a device", "a push service and its token, e.g. fcm:TOKEN or apns:TOKEN")
    return known


def _endpoint(text: str, region: str | None) -> str:
    if not re.fullmatch(r"[a-z0-9-]{1,50}", text):
        raise InvalidAddress("not the name of an endpoint", "the name of one of the client's endpoints")
    return text


_READERS = {
    Channel.SMS: _phone_number,
    Channel.EMAIL: _email,
    Channel.PUSH: _device,
    Channel.WEBHOOK: _endpoint,
}


def country(channel: str, address: str) -> str:
    """The ISO 3166 country of a phone number in E.164; empty where there is none."""
    return country_of(address) if channel == Channel.SMS else ""


def address_hash(channel: str, address: str) -> str:
    """What stands for an address where the address itself must not: keyed, so that a list of hashes tells nothing."""
    text = f"{channel}:{address if channel == Channel.PUSH else address.lower()}"  # tokens tell cases apart
    return hmac.digest(settings.ADDRESS_KEY, text.encode(), "sha256").hex()


def mask(address: str) -> str:
    """An address as a person may see it: `+49…78`, `a…@example.org`."""
    if "@" in address:
        local, _, domain = address.rpartition("@")
        return f"{local[:1]}…@{domain}"
    return f"{address[:3]}…{address[-2:]}" if address else ""


# A date is no phone number, and neither are digits inside an id. All is bounded, by where it may begin and by its length:
# an answer may be one word of 1 MiB, and a search from each of its letters would take hours. What begins with a digit is
# found much sooner than what may begin with anything.
_MAILBOX = re.compile(r"(?<![^\s@<>\"',;])[^\s@<>\"',;]+@[^\s@<>\"',;]+")
_NUMBER = re.compile(r"\d(?:(?<![\w.-]\d)|(?<=%2B\d))(?!\d{3}-\d\d-\d\d)[\d ()/-]{6,40}\d(?![\w-])")
_PLUS = re.compile(r"(?:%2B|\+)…")
_SHORTEST_SECRET = 4  # characters; shorter texts occur in every answer


def redact(text: str, *secrets: str) -> str:
    """A text without the given secrets and without anything that looks like an address."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET and secret in text:  # an expression for each is a third of a worker's time
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "…", text)
    return without_addresses(text)


def without_addresses(text: str, *, but: re.Pattern[str] | None = None) -> str:
    """A text without what looks like a mailbox or a phone number. What looks like a mailbox and matches `but` stays."""
    if "@" in text:
        text = _MAILBOX.sub(lambda found: found[0] if but and but.fullmatch(found[0]) else "…", text)
    shortened = _NUMBER.sub("…", text)
    return text if shortened == text else _PLUS.sub("…", shortened)


def redact_answer(body: bytes, *secrets: str) -> str:
    """A provider's answer as text, without secrets and addresses, however its JSON wrote them."""
    text = body.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    if "\\" not in text:  # JSON that escapes nothing is text already
        return redact(text, *secrets)
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return redact(text, *secrets)
    text = text.encode(errors="replace").decode()
    return redact(
        text, *dict.fromkeys([*secrets, *(json.dumps(secret, ensure_ascii=False)[1:-1] for secret in secrets)])
    )
