"""Finds what must not be there, however it is written: addresses, texts and secrets."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, unquote_plus

BETWEEN_DIGITS = r"(?:[\s()./+-]|%20|&nbsp;)*"
AROUND_CHARACTERS = 80  # shown of what surrounds a find
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")


class Scanner:
    """Looks for phone numbers (E.164), mailboxes, words and secrets. `secrets` by name, since they are not for a report."""

    def __init__(
        self,
        *,
        numbers: Iterable[str] = (),
        mailboxes: Iterable[str] = (),
        words: Iterable[str] = (),
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        sought = {f"number {number[-4:]}": BETWEEN_DIGITS.join(number[3:]) for number in numbers}
        sought |= {f"mailbox {mailbox[:12]}": re.escape(mailbox) for mailbox in mailboxes}
        sought |= {f"text {word}": re.escape(word) for word in words}
        for name, secret in (secrets or {}).items():
            assert len(secret) >= 6, f"{name} is too short to be looked for"
            sought[name] = f"{re.escape(secret)}|{re.escape(quote(secret, safe=''))}"
        self._patterns = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in sought.items()}

    def find(self, output: bytes) -> list[str]:
        """What stands in an output, each with what surrounds it first."""
        found: dict[str, str] = {}
        for text in readings(output):
            for name, pattern in self._patterns.items():
                if name not in found and (match := pattern.search(text)):
                    begin, end = match.start() - AROUND_CHARACTERS, match.end() + AROUND_CHARACTERS
                    found[name] = text[max(0, begin) : end]
        return [f"{name}: {around!r}" for name, around in found.items()]


def readings(output: bytes) -> Iterator[str]:
    """An output as it stands, and without the escapes of URLs, HTML, JSON and Python, and with its base64 read."""
    text = output.decode(errors="replace")
    yield text
    yield unquote_plus(text)
    yield html.unescape(text)
    yield _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    decoded = b"\n".join(_decoded(word[0]) for word in _BASE64.finditer(output))
    if decoded:
        inner = decoded.decode(errors="replace")
        yield inner
        yield _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), inner)


def _decoded(word: bytes) -> bytes:
    letters = word.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    return base64.b64decode(letters[: len(letters) - (len(letters) % 4 == 1)] + b"==")
