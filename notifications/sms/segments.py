"""How many SMS a text makes, and where it may be parted (3GPP TS 23.038 and TS 23.040, section 9.2.3.24.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple
from unicodedata import name

from wcwidth import iter_graphemes

from notifications.sms.alphabet import GSM

Encoding = Literal["gsm7", "ucs2"]

MOST_SEGMENTS = 255  # their number is one octet of the header


class Limits(NamedTuple):
    """Septets or UTF-16 units that fit into an SMS."""

    alone: int
    joined: int  # less the six octets that say which part it is


LIMITS: dict[Encoding, Limits] = {"gsm7": Limits(160, 153), "ucs2": Limits(70, 67)}


@dataclass(frozen=True, slots=True)
class Measured:
    """How long a text is. Units are septets in `gsm7`, UTF-16 units in `ucs2`."""

    encoding: Encoding
    units: int
    segments: int
    per_segment: tuple[int, ...]  # units of each
    room: int  # units that the last one could still take


@dataclass(frozen=True, slots=True)
class Foreign:
    """A character that is not in the alphabet of an SMS, and where it stands; the first character is at position 0."""

    character: str
    positions: tuple[int, ...]

    def __str__(self) -> str:
        code = f"U+{ord(self.character):04X} {name(self.character, '')}".rstrip()
        return f"{code} at position {self.positions[0]}"


class _Part(NamedTuple):
    text: str
    units: int


def measure(text: str) -> Measured:
    """Count the SMS that exactly this text makes. An empty text makes one."""
    encoding = encoding_of(text)
    per_segment = tuple(part.units for part in _parts(text, encoding))
    limits = LIMITS[encoding]
    limit = limits.alone if len(per_segment) == 1 else limits.joined
    return Measured(encoding, sum(per_segment), len(per_segment), per_segment, limit - per_segment[-1])


@lru_cache(maxsize=256)
def count(text: str) -> int:
    """How many SMS exactly this text makes. What many recipients get is measured once."""
    if len(text) * (1 if text.isascii() else 2) <= LIMITS["ucs2"].alone:  # one, whatever its characters take
        return 1
    return len(_parts(text, encoding_of(text)))


def split(text: str) -> tuple[str, ...]:
    """Part a text into the SMS it makes; joined, they are the text.

    An escape and its septet stay together, and so does what a reader takes for one character: a grapheme cluster
    (Unicode Standard Annex 29), unless it alone is longer than an SMS. CR and LF are two characters of the alphabet, and
    may be parted as carriers do.
    """
    return tuple(part.text for part in _parts(text, encoding_of(text)))


def encoding_of(text: str) -> Encoding:
    return "gsm7" if GSM.sizes.keys() >= set(text) else "ucs2"


def why(text: str) -> tuple[Foreign, ...]:
    """Name the characters that force a text into UCS-2, in the order in which they first appear."""
    found: dict[str, list[int]] = {}
    for position, character in enumerate(text):
        if character not in GSM.sizes:
            found.setdefault(character, []).append(position)
    return tuple(Foreign(character, tuple(positions)) for character, positions in found.items())


def _parts(text: str, encoding: Encoding) -> list[_Part]:
    limits = LIMITS[encoding]
    units = _units(text, encoding)
    if units <= limits.alone:
        return [_Part(text, units)]
    return list(_filled(_pieces(text, encoding), limits.joined))


def _filled(pieces: Iterable[tuple[str, int]], limit: int) -> Iterator[_Part]:
    """Put pieces together, as many as fit."""
    texts: list[str] = []
    units = 0
    for piece, size in pieces:
        if units + size > limit:
            yield _Part("".join(texts), units)
            texts, units = [], 0
        texts.append(piece)
        units += size
    yield _Part("".join(texts), units)


def _pieces(text: str, encoding: Encoding) -> Iterable[tuple[str, int]]:
    """What may not be parted, with its units. In GSM-7 that is each character: none of them combines with another."""
    if encoding == "gsm7":
        return zip(text, map(GSM.sizes.__getitem__, text), strict=True)
    return ((piece, _units(piece, "ucs2")) for piece in _clusters(text))


def _clusters(text: str) -> Iterator[str]:
    for cluster in iter_graphemes(text):
        if cluster == "\r\n" or _units(cluster, "ucs2") > LIMITS["ucs2"].joined:
            yield from cluster
        else:
            yield cluster


def _units(text: str, encoding: Encoding) -> int:
    if encoding == "gsm7":
        return sum(map(GSM.sizes.__getitem__, text))
    return len(text) + sum(character > "\uffff" for character in text)
