"""Which phone numbers an SMS may go to, and whose number a network names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from notifications.addresses import InvalidAddress, country, normalise
from notifications.sms.kinds import Kind, kind_of
from providers.messages import Channel

SENDABLE = frozenset({Kind.MOBILE, Kind.FIXED_OR_MOBILE, Kind.TOLL_FREE, Kind.VOIP, Kind.UNKNOWN})
KINDS = frozenset(Kind) - {Kind.SHORT}  # a short number is no address: it is refused wherever one is read
FOR_TRIALS = "+1500555"  # in a range of personal numbers, but vendors' own: their examples and test numbers

_WORDS = {
    Kind.MOBILE: "a mobile number",
    Kind.FIXED_LINE: "a landline number",
    Kind.FIXED_OR_MOBILE: "a mobile or landline number",
    Kind.PREMIUM: "a premium-rate number",
    Kind.SHARED_COST: "a shared-cost number",
    Kind.TOLL_FREE: "a toll-free number",
    Kind.PERSONAL: "a personal number, forwarded at a price nobody knows",
    Kind.VOIP: "an internet telephony number",
    Kind.UNKNOWN: "a number of no known kind",
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Where SMS may go. Countries are ISO 3166 codes; none at all means every one."""

    kinds: frozenset[Kind] = SENDABLE
    countries: frozenset[str] = frozenset()

    def check(self, address: str) -> None:
        """Let a number in E.164 pass. Raises InvalidAddress, which says why and does not hold the number."""
        if not self._takes_all and (kind := kind_of(address)) not in self.kinds and not address.startswith(FOR_TRIALS):
            accepted = f"numbers of these kinds: {', '.join(kind for kind in Kind if kind in self.kinds)}"
            raise InvalidAddress(f"is {_WORDS[kind]}", accepted)
        if self.countries and country(Channel.SMS, address) not in self.countries:
            accepted = f"numbers in {', '.join(sorted(self.countries))}"
            raise InvalidAddress("is in a country where this client sends no SMS", accepted)

    @property
    def _takes_all(self) -> bool:
        return self.kinds >= KINDS


_ON_THE_WIRE = re.compile(r"\+?([0-9]{7,15})")
_OLD_MEXICAN = re.compile(r"\+521(?=[0-9]{10}$)")


def read_from_network(text: str) -> str:
    """Read the number that a network or vendor names as sender or recipient, in E.164 perhaps without its plus.

    Some still write Mexican numbers with the old 1. It is dropped, for a STOP must find its number. Raises
    InvalidAddress, for a name or a short number too.
    """
    if not (digits := _ON_THE_WIRE.fullmatch(text.strip())):
        raise InvalidAddress("not a phone number", "the digits of a number in E.164, e.g. +4915112345678")
    return normalise(Channel.SMS, _OLD_MEXICAN.sub("+52", f"+{digits[1]}"))
