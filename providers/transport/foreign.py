"""Where a request may go whose address was given by somebody else: to no machine of ours, however its name resolves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

from providers.errors import AddressForbidden
from providers.messages import HttpRequest
from providers.transport.public import is_public

FOREIGN_ANSWER_BYTES = 64 * 1024  # of a body; the rest is not read, since its status says all
HTTP_PORT = 80

_URL = re.compile(r"https?://[!#-;=?-\[\]_a-z~]+", re.IGNORECASE)  # no blanks, no backslash: readers differ on those


@dataclass(frozen=True, slots=True)
class ForeignRules:
    """`networks` are allowed though not public. `allows_http` allows port 80 too, and plain HTTP on each of `ports`."""

    networks: Sequence[IPv4Network | IPv6Network] = ()
    allows_http: bool = False
    ports: frozenset[int] = frozenset({443, 8443})

    def url_fault(self, url: str) -> str:
        """What is wrong with a URL before its name is looked up, in a few words; "" if nothing."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return "the address is none"
        if not _URL.fullmatch(url) or not parts.hostname:
            return "the address is none"
        if parts.username is not None or parts.password is not None:
            return "the address has a user or a password in it"
        if parts.scheme != "https" and not self.allows_http:
            return "the address is not https"
        return self._port_fault(port if port is not None else 443 if parts.scheme == "https" else HTTP_PORT)

    def address_fault(self, address: str, port: int) -> str:
        """What is wrong with connecting there, in a few words; "" if nothing."""
        known = ip_address(address)
        if not is_public(known) and not any(known in network for network in self.networks):
            return "the address is not public"
        return self._port_fault(port)

    def check_url(self, request: HttpRequest) -> None:
        """Raises AddressForbidden for a foreign request that may not go where its URL says."""
        if fault := self.url_fault(request.url):
            raise AddressForbidden(fault)

    def allowed(self, addresses: Sequence[Any]) -> Sequence[Any]:
        """Of `getaddrinfo`'s answers those that may be connected to. Raises AddressForbidden if that is none."""
        faults = [self.address_fault(*address[4][:2]) for address in addresses]
        allowed = [address for address, fault in zip(addresses, faults, strict=True) if not fault]
        if not allowed:
            raise AddressForbidden(faults[0])
        return allowed

    def _port_fault(self, port: int) -> str:
        is_open = port in self.ports or (self.allows_http and port == HTTP_PORT)
        return "" if is_open else f"port {port} is not allowed"
