"""Texts that came in: each stored once, forgotten when they are old; and the wish of who sent them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from notifications.sql.rows import execute


@dataclass(frozen=True, slots=True)
class NewText:
    """A text to store, in words that the database can hold."""

    account_id: int
    dedupe_key: str
    sender: str
    recipient: str
    text: str
    intent: str
    occurred_at: datetime | None


@dataclass(frozen=True, slots=True)
class Stored:
    """A text on file."""

    id: int
    received_at: datetime


STORE = """
INSERT INTO inbound_message (account_id, dedupe_key, sender, recipient, text, intent, occurred_at)
VALUES (%(account_id)s, %(dedupe_key)s, %(sender)s, %(recipient)s, %(text)s, %(intent)s, %(occurred_at)s)
ON CONFLICT (account_id, dedupe_key) DO NOTHING RETURNING id, received_at"""

# Only what its owner asked for is taken back by its owner: not that a number does not exist.
WELCOME_BACK = """
DELETE FROM suppression WHERE channel = %(channel)s AND address_hash = %(hash)s AND reason = 'opted_out' RETURNING id"""

FORGET = """
UPDATE inbound_message SET sender = '', text = '' WHERE received_at < %(before)s AND (sender <> '' OR text <> '')"""
DELETE = "DELETE FROM inbound_message WHERE received_at < %(before)s"


def store(text: NewText) -> Stored | None:
    """Store a text; None where it is stored already."""
    rows = execute(STORE, {name: getattr(text, name) for name in NewText.__slots__})
    return Stored(*rows[0]) if rows else None


def welcome_back(channel: str, address_hash: str) -> bool:
    """Write to an address again that had opted out. False where it had not."""
    return bool(execute(WELCOME_BACK, {"channel": channel, "hash": address_hash}))


def forget(*, before: datetime) -> None:
    """Empty what was received before a moment of who wrote what."""
    execute(FORGET, {"before": before})


def delete(*, before: datetime) -> None:
    """Delete what was received before a moment."""
    execute(DELETE, {"before": before})
