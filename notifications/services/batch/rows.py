"""A row as it stands in a file, before anything of it is judged but its shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from notifications.services.request import FieldError

ADDRESSED = ("sms", "email")


class Format(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


@dataclass(slots=True)
class Row:
    """Whom to tell what. `faults` are those of its shape: with any, the rest says nothing."""

    line: int
    to: dict[str, str] = field(default_factory=dict)  # address by channel, as it was written
    variables: dict[str, str] = field(default_factory=dict)  # by name in lower case
    reference: str = ""
    faults: list[FieldError] = field(default_factory=list)


def by_channel(address: str) -> dict[str, str]:
    """An address under its channel: an e-mail address has an @, a phone number has none."""
    return {"email" if "@" in address else "sms": address}
