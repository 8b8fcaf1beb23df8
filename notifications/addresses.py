"""Addresses: read, normalised, hashed, masked."""

from __future__ import annotations

import hmac
import json
import re
from dataclasses import dataclass
from functools import cache

import phonenumbers
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from phonenumbers import (
    COUNTRY_CODE_TO_REGION_CODE,
    NumberParseException,
    PhoneMetadata,
    PhoneNumberFormat,
    ValidationResult,
)

from providers.messages import Channel

ADDRESS_LIMIT = 254  # characters of an e-mail address, RFC 5321 section 4.5.3


class InvalidAddress(ValueError):
    """`reason` and what is `accepted`; never the address itself."""

    def __init__(self, reason: str, accepted: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.accepted = accepted


def normalise(channel: Channel, address: str, *, region: str | None = None) -> str:
    """The one spelling of an address: E.164, or an e-mail address with its domain in lower case. Raises InvalidAddress.

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
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        raise InvalidAddress("no number of this length exists there", accepted)
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a country code says about the digits behind it."""

    regions: tuple[str, ...]  # the main one first
    lengths: frozenset[int]
    national_prefix: re.Pattern[str] | None  # what people may have typed before them at home


@cache
def _plan(country_code: int) -> _Plan | None:
    regions = COUNTRY_CODE_TO_REGION_CODE.get(country_code)
    metadata = PhoneMetadata.metadata_for_region_or_calling_code(country_code, regions[0]) if regions else None
    if regions is None or metadata is None or metadata.general_desc is None:
        return None
    general = metadata.general_desc
    lengths = frozenset(general.possible_length) - frozenset(general.possible_length_local_only)
    prefix = metadata.national_prefix_for_parsing
    return _Plan(regions, lengths, re.compile(prefix) if prefix else None)


def _planned(digits: str) -> tuple[_Plan, str] | None:
    """The plan that digits after a plus sign follow, and what is left of them; no country code begins with another."""
    for size in (1, 2, 3):
        if plan := _plan(int(digits[:size])):
            return plan, digits[size:]
    return None


_E164 = re.compile(r"\+[1-9][0-9]{6,14}")


def _is_written_out(text: str) -> bool:
    """Whether a phone number is in E.164 already, so that parsing it changes nothing. Takes a tenth of the time."""
    if not _E164.fullmatch(text) or (planned := _planned(text[1:])) is None:
        return False
    plan, national = planned
    if len(national) not in plan.lengths or national[0] == "0":
        return False
    return plan.national_prefix is None or plan.national_prefix.match(national) is None


def _email(text: str, region: str | None) -> str:
    accepted = "one e-mail address in ASCII, e.g. ana@example.org"
    if len(text) > ADDRESS_LIMIT or not text.isascii():
        raise InvalidAddress("not an e-mail address we can send to", accepted)
    try:
        validate_email(text)
    except ValidationError as error:
        raise InvalidAddress("not an e-mail address", accepted) from error
    local, _, domain = text.rpartition("@")
    return f"{local}@{domain.lower()}"


_READERS = {Channel.SMS: _phone_number, Channel.EMAIL: _email}


def country(channel: str, address: str) -> str:
    """The ISO 3166 country of a phone number in E.164; empty where there is none."""
    if channel != Channel.SMS:
        return ""
    planned = _planned(address[1:])
    if planned is not None and len(planned[0].regions) == 1:
        return _country_or_none(planned[0].regions[0])
    region = phonenumbers.region_code_for_number(phonenumbers.parse(address))
    return _country_or_none(region)


def _country_or_none(region: str | None) -> str:
    return region if region and len(region) == 2 else ""


def address_hash(channel: str, address: str) -> str:
    """What stands for an address where the address itself must not: keyed, so that a list of hashes tells nothing."""
    text = f"{channel}:{address.lower()}"
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
