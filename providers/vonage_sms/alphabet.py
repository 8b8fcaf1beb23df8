"""Which alphabet a text needs, and how many parts it makes (3GPP TS 23.038): 160 or 153 septets, 70 or 67 units of UCS-2."""

from __future__ import annotations

from collections.abc import Iterable

BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("\f^{}\\[~]|€")  # an escape before each: two septets


def alphabet_and_parts(text: str) -> tuple[str, int]:
    """Say `text` or `unicode`, as the API calls them, and the number of parts."""
    if BASIC.union(EXTENDED).issuperset(text):
        return "text", _parts((1 if character in BASIC else 2 for character in text), alone=160, joined=153)
    return "unicode", _parts((1 if ord(character) < 0x10000 else 2 for character in text), alone=70, joined=67)


def _parts(sizes: Iterable[int], *, alone: int, joined: int) -> int:
    """Fill part after part; what takes two places is never cut."""
    places = list(sizes)
    if sum(places) <= alone:
        return 1
    parts, used = 1, 0
    for size in places:
        if used + size > joined:
            parts, used = parts + 1, 0
        used += size
    return parts
