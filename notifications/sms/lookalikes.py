"""Characters that an SMS has no septet for, and others that look like them and are in its alphabet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import normalize

from wcwidth import iter_graphemes

from notifications.sms.segments import encoding_of, measure

_LOOK_ALIKES = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u2035\u02b9\u02bb\u02bc\u02bd\u02c8\u2039\u203a`\u00b4\uff40",
    '"': "\u201c\u201d\u201e\u201f\u2033\u2036\u02ba\u00ab\u00bb\u301d\u301e\u301f",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63",
    "...": "\u2026",
    "/": "\u2044\u2215",
    "~": "\u02dc\u223c",
    "*": "\u2217",
    ":": "\u2236",
    "|": "\u2223\u00a6",
    " ": "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
    "\n": "\v\u0085\u2028\u2029",
    "£": "\uffe1",
    "¥": "\uffe5",
    "ff": "\ufb00",
    "fi": "\ufb01",
    "fl": "\ufb02",
    "ffi": "\ufb03",
    "ffl": "\ufb04",
    "st": "\ufb05\ufb06",
    "IJ": "\u0132",
    "ij": "\u0133",
    "OE": "\u0152",
    "oe": "\u0153",
    # Nothing to see: soft hyphen, zero-width space and joiners, word joiner, byte order mark, variation selectors, and
    # the marks of a left-to-right text. Marks of the other direction would move what stands around them.
    "": "\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f\u200e\u202a\u202c\u2066\u2068\u2069",
}
_FULL_WIDTH = {chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F)}

# Greek capitals that share their shape with a Latin one. The alphabet holds only the others.
_GREEK_CAPITALS = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True))

REPLACEMENTS: Mapping[str, str] = (
    _FULL_WIDTH
    | _GREEK_CAPITALS
    | {character: plain for plain, characters in _LOOK_ALIKES.items() for character in characters}
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """What stood at a position of the text as it came; the first character is at position 0."""

    position: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Plain:
    """A text, and what was replaced in it."""

    text: str
    replacements: tuple[Replacement, ...] = ()


def replace(text: str) -> Plain:
    """Write a text in the alphabet of an SMS, where characters that look the same allow it.

    All or nothing: a text that would need UCS-2 all the same, or more SMS than before, comes back as it was. Letters
    never lose an accent; a letter and an accent that stand apart are put together.
    """
    if encoding_of(text) == "gsm7":
        return Plain(text)
    plain = _replaced(text)
    if encoding_of(plain.text) == "ucs2" or measure(plain.text).segments > measure(text).segments:
        return Plain(text)
    return plain


def _replaced(text: str) -> Plain:
    texts: list[str] = []
    replacements: list[Replacement] = []
    position = 0
    for cluster in iter_graphemes(text):
        after = cluster if encoding_of(cluster) == "gsm7" else _plain(cluster)
        if after != cluster:
            replacements.append(Replacement(position, cluster, after))
        texts.append(after)
        position += len(cluster)
    return Plain("".join(texts), tuple(replacements))


def _plain(cluster: str) -> str:
    return "".join(REPLACEMENTS.get(character, character) for character in normalize("NFC", cluster))
