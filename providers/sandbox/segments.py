"""How many SMS a text makes (3GPP TS 23.038): 160 or 153 septets each, 70 or 67 units of UCS-2."""

from __future__ import annotations

from math import ceil

BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("\f^{}\\[~]|€")  # an escape before each: two septets


def segment_count(text: str) -> int:
    septets = 0
    for character in text:
        if character in BASIC:
            septets += 1
        elif character in EXTENDED:
            septets += 2
        else:
            units = len(text.encode("utf-16-be", "surrogatepass")) // 2
            return 1 if units <= 70 else ceil(units / 67)
    return 1 if septets <= 160 else ceil(septets / 153)
