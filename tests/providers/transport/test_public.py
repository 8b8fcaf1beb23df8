"""Which addresses are anybody's to reach."""

from __future__ import annotations

import pytest

from providers.transport.public import is_public

PUBLIC = ("1.1.1.1", "9.255.255.255", "100.63.255.255", "172.32.0.1", "192.0.1.1", "223.255.255.255", "2606:4700::1111")
NOT_PUBLIC = {
    "0.0.0.0": "this network",
    "0.1.2.3": "this network",
    "10.0.0.1": "private",
    "100.64.0.1": "shared by customers of one carrier",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "169.254.169.254": "metadata of a cloud",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.0.0.8": "protocols",
    "192.0.0.192": "protocols",
    "192.0.2.1": "documentation",
    "192.88.99.1": "6to4 relays",
    "192.168.1.1": "private",
    "198.18.0.1": "measuring",
    "198.51.100.1": "documentation",
    "203.0.113.1": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.250": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "broadcast",
    "::": "unspecified",
    "::1": "loopback",
    "::7f00:1": "IPv4-compatible",
    "::101:101": "IPv4-compatible, of a public one",
    "::ffff:127.0.0.1": "IPv4-mapped",
    "::ffff:1.1.1.1": "IPv4-mapped, of a public one",
    "::ffff:0:127.0.0.1": "IPv4-translated",
    "64:ff9b::7f00:1": "NAT64",
    "64:ff9b:1::a00:1": "NAT64 for local use",
    "100::1": "discard",
    "2001::1": "Teredo",
    "2001:2::1": "measuring",
    "2001:10::1": "ORCHID",
    "2001:db8::1": "documentation",
    "2002:7f00:1::": "6to4 of loopback",
    "3fff::1": "documentation",
    "5f00::1": "segment routing",
    "fc00::1": "unique local",
    "fd00:ec2::254": "metadata of a cloud",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local, of one interface",
    "fec0::1": "site-local, of old",
    "ff02::1": "multicast",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("text", ["", "localhost", "0177.0.0.1", "2130706433", "1.1.1.1/32"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        is_public(text)
