"""The alphabet of an SMS, seven bits a character (3GPP TS 23.038 V18.0.0, sections 6.2.1 and 6.2.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

Table = Mapping[int, str]  # a septet, and the character it stands for

ESCAPE = 0x1B
_NAMES = {"SP": " ", "LF": "\n", "CR": "\r", "FF": "\f"}
_NOTHING = {"--", "ESC"}


def table(rows: str) -> dict[int, str]:
    """Read a table: a line for each sixteen septets, from 0x00 on.

    A cell is a character, its code point in four hex digits, SP, LF, CR or FF; `--` and ESC stand for no character.
    """
    return {septet: _cell(cell) for septet, cell in enumerate(rows.split()) if cell not in _NOTHING}


def _cell(cell: str) -> str:
    if len(cell) == 1:
        return cell
    return _NAMES.get(cell) or chr(int(cell, 16))


DEFAULT = table("""
    @  £  $  ¥  è  é  ù  ì  ò  Ç  LF Ø  ø  CR Å  å
    Δ  _  Φ  Γ  Λ  Ω  Π  Ψ  Σ  Θ  Ξ  ESC Æ æ  ß  É
    SP !  "  #  ¤  %  &  '  (  )  *  +  ,  -  .  /
    0  1  2  3  4  5  6  7  8  9  :  ;  <  =  >  ?
    ¡  A  B  C  D  E  F  G  H  I  J  K  L  M  N  O
    P  Q  R  S  T  U  V  W  X  Y  Z  Ä  Ö  Ñ  Ü  §
    ¿  a  b  c  d  e  f  g  h  i  j  k  l  m  n  o
    p  q  r  s  t  u  v  w  x  y  z  ä  ö  ñ  ü  à
""")

EXTENSION = {
    0x0A: "\f",
    0x14: "^",
    0x28: "{",
    0x29: "}",
    0x2F: "\\",
    0x3C: "[",
    0x3D: "~",
    0x3E: "]",
    0x40: "|",
    0x65: "€",
}


class NotInAlphabet(ValueError):
    """`position` of the first character that has no septet; never the text."""

    def __init__(self, position: int) -> None:
        super().__init__(f"the character at position {position} is not in the alphabet")
        self.position = position


@dataclass(frozen=True, eq=False)
class Alphabet:
    """A table in use from end to end (`locking`), and one for the septet behind an escape (`single`)."""

    locking: Table
    single: Table

    @cached_property
    def codes(self) -> Mapping[str, bytes]:
        """Each character and its septets, one to a byte: two where it stands behind an escape."""
        codes: dict[str, bytes] = {}
        for septet, character in self.locking.items():
            codes.setdefault(character, bytes([septet]))
        for septet, character in self.single.items():
            codes.setdefault(character, bytes([ESCAPE, septet]))
        return codes

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Each character and how many septets it takes: 1 or 2."""
        return {character: len(code) for character, code in self.codes.items()}

    def encode(self, text: str) -> bytes:
        """Write a text in septets, one to a byte, not packed. Raises NotInAlphabet."""
        try:
            return b"".join(map(self.codes.__getitem__, text))
        except KeyError as error:
            raise NotInAlphabet(text.index(error.args[0])) from None

    def decode(self, septets: bytes) -> str:
        """Read septets, one to a byte.

        As the standard asks, an unknown septet behind an escape is read by the main table, and an escape that nothing
        follows, or another escape, is shown as a space; so is a septet that stands for nothing.
        """
        characters: list[str] = []
        rest = iter(septets)
        for septet in rest:
            characters.append(self._behind_escape(next(rest, ESCAPE)) if septet == ESCAPE else self._plain(septet))
        return "".join(characters)

    def _behind_escape(self, septet: int) -> str:
        return self.single.get(septet) or self._plain(septet)

    def _plain(self, septet: int) -> str:
        return self.locking.get(septet, " ")


GSM = Alphabet(DEFAULT, EXTENSION)
