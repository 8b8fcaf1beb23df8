"""An example of the whole environment: every variable with a comment, every secret made fresh."""

from __future__ import annotations

import inspect
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, fields

from config.launcher.__main__ import fresh_secrets
from notifications import numbers as source
from notifications.numbers import Numbers

HEAD = """\
# Landfall's environment. Load it with `set -a; . ./landfall.env; set +a`, with systemd's EnvironmentFile=, or with
# `docker run --env-file`. Every secret below was made just now, for you alone: keep this file to yourself.
# A line that begins with "#" and a name shows that variable's default, or how a value looks where there is none."""

NUMBERS = (
    "# Times in seconds, sizes and counts, each with its default; one without a comment belongs to the one above it."
)
BETWEEN_KIN = r"\n\n(?=# [A-Z_]+=)"  # before a variable without a comment of its own


@dataclass(frozen=True)
class Variable:
    """One variable: what the comment says, the value, and whether it is only shown and not set."""

    name: str
    comment: str
    value: str
    is_shown_only: bool = False

    def __str__(self) -> str:
        lines = [f"# {line}" for line in self.comment.splitlines()]
        return "\n".join([*lines, f"{'# ' if self.is_shown_only else ''}{self.name}={self.value}"])


def example() -> str:
    """A complete environment file: right for a shell, for systemd and for Docker, with fresh secrets."""
    parts = [HEAD, *map(str, _needed()), *map(str, _optional()), NUMBERS, *map(str, _numbers())]
    return re.sub(BETWEEN_KIN, "\n", "\n\n".join(parts)) + "\n"


def variables() -> list[Variable]:
    """Every variable in the file."""
    return [*_needed(), *_optional(), *_numbers()]


def _needed() -> list[Variable]:
    fresh, password = fresh_secrets(), secrets.token_hex(16)
    return [
        Variable("SECRET_KEY", "Signs sessions and cookies: Django's.", fresh["SECRET_KEY"]),
        Variable(
            "ADDRESS_KEY",
            "Hashes addresses for suppression and search. With another key the suppressed ones are forgotten: keep it.",
            fresh["ADDRESS_KEY"],
        ),
        Variable(
            "CREDENTIAL_KEYS",
            "Fernet keys for providers' credentials, comma-separated, newest first: the first encrypts, each decrypts.",
            fresh["CREDENTIAL_KEYS"],
        ),
        Variable(
            "DATABASE_URL",
            "PostgreSQL 15 or newer. As its administrator, in psql:\n"
            f"CREATE ROLE landfall LOGIN PASSWORD '{password}'; CREATE DATABASE landfall OWNER landfall;",
            f"postgresql://landfall:{password}@127.0.0.1:5432/landfall",
        ),
        Variable(
            "CELERY_BROKER_URL",
            "Redis or Valkey with `maxmemory-policy noeviction`, an instance of its own.",
            "redis://127.0.0.1:6379/0",
        ),
        Variable(
            "PUBLIC_URL",
            "Where providers send their receipts. In production https, and a name that they can reach.",
            "http://localhost:8000",
        ),
        Variable(
            "ALLOWED_HOSTS", "Host names that the web process answers to, that of PUBLIC_URL among them.",
            "localhost,127.0.0.1",
        ),
    ]  # fmt: skip


def _optional() -> list[Variable]:
    shown = [
        ("DEFAULT_REGION", "Reads national phone numbers. Unset, only international form is taken.", "DE"),
        ("BROKER_KEY_PREFIX", "One for each environment that shares a Redis.", "landfall:"),
        (
            "PREPARE_STATEMENTS",
            "The database plans each statement once per connection. Off behind a pooler that does not know prepared ones.",
            "true",
        ),
        ("SEND_TRANSPORT", "auto (curl for lane bulk), curl or requests for all lanes.", "auto"),
        (
            "WEBHOOK_NETWORKS",
            "Networks that events may go to although they are not public. Whoever may add endpoints reaches all in them.",
            "10.20.0.0/24",
        ),
        ("WEBHOOK_HTTP", "Events may go over plain HTTP, too: to port 80 and those below.", "false"),
        ("WEBHOOK_PORTS", "Ports that events may go to.", "443,8443"),
        ("LOG_LEVEL", "DEBUG, INFO, WARNING, ERROR or CRITICAL.", "INFO"),
        ("LOG_JSON", "Logs as JSON, for machines.", "false"),
        ("SENTRY_DSN", "Reports surprises, without addresses and texts.", "https://key@sentry.example.org/1"),
        (
            "FLOWER_BASIC_AUTH",
            "Who may see Flower: user and password. Read by Flower itself.",
            f"flower:{secrets.token_hex(16)}",
        ),
        (
            "HOST",
            "Where the web process listens, and on which port; then the ports of Flower and of the sandbox.",
            "127.0.0.1",
        ),
        ("PORT", "", "8000"),
        ("FLOWER_PORT", "", "5555"),
        ("SANDBOX_PORT", "", "8025"),
        ("DEBUG", "Shows tracebacks to whoever causes them: never where strangers can.", "false"),
    ]
    return [Variable(name, comment, value, is_shown_only=True) for name, comment, value in shown]


def _numbers() -> Iterator[Variable]:
    """The fields of Numbers, each with the comment behind it there."""
    comments = dict(re.findall(r"^    (\w+): \w+ = [^#\n]+#\s*(.+)$", inspect.getsource(source), re.MULTILINE))
    for field in fields(Numbers):
        yield Variable(field.name.upper(), comments.get(field.name, ""), f"{field.default:.10g}", is_shown_only=True)
