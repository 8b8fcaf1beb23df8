"""Which addresses are anybody's to reach. A table of our own: Python's `is_global` differs between its releases, and has gaps."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# IANA's special-purpose registries (https://www.iana.org/assignments/iana-ipv4-special-registry, read 2026-11).
NOT_PUBLIC = [
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network; Linux takes 0.0.0.0 for itself
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by customers of one carrier
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, and where clouds tell machines their secrets
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # documentation, as are 198.51.100 and 203.0.113
        "192.88.99.0/24",  # relays to 6to4
        "192.168.0.0/16",
        "198.18.0.0/15",  # measuring
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # Teredo, which carries an IPv4 address, and other protocols
        "2001:db8::/32",  # documentation, as is 3fff::/20
        "2002::/16",  # 6to4: carries an IPv4 address
        "3fff::/20",
    )
]
# All else of IPv6 is somebody's own or stands for an IPv4 address: ::1, ::/96, ::ffff:0:0/96, 64:ff9b::/96 and
# 64:ff9b:1::/48 (NAT64), 100::/64, fc00::/7, fe80::/10, fec0::/10, ff00::/8.
GLOBAL_UNICAST = ip_network("2000::/3")


def is_public(address: str | IPv4Address | IPv6Address) -> bool:
    """Whether an address is on the open internet, and not an IPv4 address in disguise. Raises ValueError for what is none."""
    known = ip_address(address) if isinstance(address, str) else address
    if known.version == 6 and known not in GLOBAL_UNICAST:
        return False
    return not any(known in network for network in NOT_PUBLIC)
