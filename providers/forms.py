"""Forms as bytes (application/x-www-form-urlencoded), quoted by one expression and not letter by letter as `urlencode` does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote_plus

_UNSAFE = re.compile("[^A-Za-z0-9_.~ -]")
_AS_WRITTEN = {chr(number): quote_plus(bytes([number])) for number in range(256)}


def form(fields: Mapping[str, str]) -> bytes:
    """Write fields in their order, as UTF-8. Raises UnicodeEncodeError for half a character."""
    return "&".join([f"{_quoted(name)}={_quoted(value)}" for name, value in fields.items()]).encode()


def _quoted(text: str) -> str:
    octets = text.encode().decode("latin-1")
    return _UNSAFE.sub(lambda found: _AS_WRITTEN[found[0]], octets).replace(" ", "+")
