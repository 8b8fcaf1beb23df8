"""Which phone numbers an SMS may go to: their kind and country, and what a policy says to that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberFormat, PhoneNumberType
from phonenumbers.shortnumberinfo import is_possible_short_number_for_region

from notifications.addresses import InvalidAddress, country, normalise
from providers.messages import Channel

_SHORT = re.compile(r"[0-9]{3,8}")
_ON_THE_WIRE = re.compile(r"\+?([0-9]{7,15})")
_OLD_MEXICAN = re.compile(r"\+521(?=[0-9]{10}$)")


class Kind(StrEnum):
    """What a number is for, as far as libphonenumber's metadata say."""

    MOBILE = "mobile"
    FIXED_LINE = "fixed_line"
    FIXED_OR_MOBILE = "fixed_or_mobile"  # where a country's plan does not tell them apart, as in North America
    PREMIUM = "premium"
    SHARED_COST = "shared_cost"
    TOLL_FREE = "toll_free"
    PERSONAL = "personal"
    VOIP = "voip"
    SHORT = "short"
    UNKNOWN = "unknown"  # possible by its length, and of no range that is known: it may be newer than the metadata


_KINDS = {
    PhoneNumberType.MOBILE: Kind.MOBILE,
    PhoneNumberType.FIXED_LINE: Kind.FIXED_LINE,
    PhoneNumberType.FIXED_LINE_OR_MOBILE: Kind.FIXED_OR_MOBILE,
    PhoneNumberType.PREMIUM_RATE: Kind.PREMIUM,
    PhoneNumberType.SHARED_COST: Kind.SHARED_COST,
    PhoneNumberType.TOLL_FREE: Kind.TOLL_FREE,
    PhoneNumberType.PERSONAL_NUMBER: Kind.PERSONAL,
    PhoneNumberType.VOIP: Kind.VOIP,
}

SENDABLE = frozenset({Kind.MOBILE, Kind.FIXED_OR_MOBILE, Kind.TOLL_FREE, Kind.VOIP, Kind.UNKNOWN})
WITH_LANDLINES = SENDABLE | {Kind.FIXED_LINE}

_WORDS = {
    Kind.MOBILE: "a mobile number",
    Kind.FIXED_LINE: "a landline number",
    Kind.FIXED_OR_MOBILE: "a mobile or landline number",
    Kind.PREMIUM: "a premium-rate number",
    Kind.SHARED_COST: "a shared-cost number",
    Kind.TOLL_FREE: "a toll-free number",
    Kind.PERSONAL: "a personal number, forwarded at a price nobody knows",
    Kind.VOIP: "an internet telephony number",
    Kind.SHORT: "a short number, which only its own country's networks know",
    Kind.UNKNOWN: "a number of no known kind",
}


@dataclass(frozen=True, slots=True)
class Number:
    """A phone number. `address` is E.164, or the digits of a short number; `country` ISO 3166, empty where there is none."""

    address: str
    kind: Kind
    country: str


def read(text: str, region: str | None = None) -> Number:
    """Read a phone number, in national form only where a region is given. Raises InvalidAddress.

    What is refused and how it is spelled are those of `addresses.normalise`; a short number of the region is read as one.
    """
    if short := _short(text, region):
        return short
    try:
        return _number(normalise(Channel.SMS, text, region=region))
    except InvalidAddress:
        if _is_old_mexican(text, region):
            raise InvalidAddress(
                "has the 1 behind +52 that Mexico abolished in 2019", "the number without it"
            ) from None
        raise


def read_from_network(text: str) -> Number:
    """Read the number that a network or vendor names as sender or recipient: in E.164, perhaps without its plus.

    Some still write Mexican numbers with the old 1. It is dropped, for a STOP must find its number. Raises
    InvalidAddress, for a name or a short number too.
    """
    if not (digits := _ON_THE_WIRE.fullmatch(text.strip())):
        raise InvalidAddress("not a phone number", "the digits of a number in E.164, e.g. +4915112345678")
    return _number(normalise(Channel.SMS, _OLD_MEXICAN.sub("+52", f"+{digits[1]}")))


def written(number: Number, region: str | None = None) -> str:
    """Write a number for people: in national form at home in `region`, else in international form."""
    if number.kind is Kind.SHORT:
        return number.address
    at_home = region is not None and number.country == region
    form = PhoneNumberFormat.NATIONAL if at_home else PhoneNumberFormat.INTERNATIONAL
    return phonenumbers.format_number(phonenumbers.parse(number.address), form)


@dataclass(frozen=True, slots=True)
class Policy:
    """Where SMS may go. Countries are ISO 3166 codes; None as `allowed_countries` allows all. What is denied stays denied."""

    allowed_countries: frozenset[str] | None = None
    denied_countries: frozenset[str] = frozenset()
    kinds: frozenset[Kind] = SENDABLE

    def __post_init__(self) -> None:
        named = self.denied_countries | (self.allowed_countries or frozenset())
        if unknown := named - phonenumbers.SUPPORTED_REGIONS:
            raise ValueError(f"no such countries: {', '.join(sorted(unknown))} (accepted: ISO 3166 codes such as DE)")

    def check(self, number: Number) -> None:
        """Let a number pass. Raises InvalidAddress, which says why and does not hold the number."""
        if reason := self._refusal(number):
            raise InvalidAddress(reason, self._accepted())

    def _refusal(self, number: Number) -> str | None:
        if number.kind not in self.kinds:
            return f"is {_WORDS[number.kind]}"
        if number.country in self.denied_countries:
            return f"is in {number.country}, which is denied"
        if self.allowed_countries is not None and number.country not in self.allowed_countries:
            return f"is in {number.country or 'no country'}, which is not allowed"
        return None

    def _accepted(self) -> str:
        kinds = ", ".join(kind for kind in Kind if kind in self.kinds)
        if self.allowed_countries is not None:
            return f"numbers of these kinds: {kinds}; in: {', '.join(sorted(self._open_countries()))}"
        denied = ", ".join(sorted(self.denied_countries))
        return f"numbers of these kinds: {kinds}" + (f"; not in: {denied}" if denied else "")

    def _open_countries(self) -> frozenset[str]:
        return (self.allowed_countries or frozenset()) - self.denied_countries


def _number(address: str) -> Number:
    parsed = phonenumbers.parse(address)
    return Number(address, _kind(parsed), country(Channel.SMS, address))


def _kind(parsed: PhoneNumber) -> Kind:
    return _KINDS.get(phonenumbers.number_type(parsed), Kind.UNKNOWN)


def _short(text: str, region: str | None) -> Number | None:
    """A short number of a region. By their length alone, some are ordinary numbers that nobody has."""
    digits = text.strip()
    if region is None or not _SHORT.fullmatch(digits):
        return None
    try:
        parsed = phonenumbers.parse(digits, region)
    except NumberParseException:
        return None
    if _kind(parsed) is not Kind.UNKNOWN or not is_possible_short_number_for_region(parsed, region):
        return None
    return Number(digits, Kind.SHORT, region)


def _is_old_mexican(text: str, region: str | None) -> bool:
    try:
        parsed = phonenumbers.parse(text, region)
    except NumberParseException:
        return False
    return bool(_OLD_MEXICAN.match(phonenumbers.format_number(parsed, PhoneNumberFormat.E164)))
