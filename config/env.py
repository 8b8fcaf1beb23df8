"""Typed readers for environment variables. What is missing or wrong is said once, at the end, all of it in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
import environs
from django.core.exceptions import ImproperlyConfigured
from sentry_sdk.utils import BadDsn, Dsn

from notifications.numbers import Numbers

HELP = "`python manage.py doctor --example` prints a complete environment."
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_QUOTED = "with %-escapes for special characters in the password"
_MISSING = ("Environment variable not set.", "empty")  # the first is what environs says


class InvalidEnvironment(ImproperlyConfigured):
    """Variables are missing or wrong; the message names each, and no value."""


class Environment(environs.Env):
    """A variable that cannot be read gives a stand-in, so that `seal` can name them all."""

    def __init__(self) -> None:
        super().__init__(eager=False)

    def required(self, name: str, *, validate: Sequence[Callable[[str], None]] = ()) -> str:
        """Read a text that must be there. Empty is as good as missing."""
        return self.str(name, validate=[_not_empty, *validate]) or ""

    def words(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        """Read words between commas, without the blanks around them. Without a default there must be some."""
        text = self.required(name) if default is None else self.str(name, default=",".join(default))
        return [word.strip() for word in (text or "").split(",") if word.strip()]

    def database(self, name: str, **options: Any) -> dict[str, Any]:
        """Read the address of a PostgreSQL database, as Django wants it."""
        url = self.required(name, validate=[_postgres_url])
        return dict(dj_database_url.parse(url, **options)) if url else {}

    def broker(self, name: str) -> str:
        """Read the address of a message broker."""
        return self.required(name, validate=[_broker_url])

    def level(self, name: str) -> str:
        """Read a log level, in capitals or not."""
        return (self.str(name, default="INFO", validate=_level) or "INFO").upper()

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Read one of a few words; the first is the default."""

        def check(value: str) -> None:
            if value not in choices:
                raise environs.ValidationError(f"must be one of {', '.join(choices)}")

        return self.str(name, default=choices[0], validate=check) or choices[0]

    def dsn(self, name: str) -> str:
        """Read the address of a Sentry project; empty without one."""
        return self.str(name, default="", validate=_dsn) or ""

    def networks(self, name: str) -> list[IPv4Network | IPv6Network]:
        """Read networks between commas, e.g. 10.0.0.0/8; none by default."""
        return [ip_network(word) for word in self._checked_words(name, [], _network)]

    def ports(self, name: str, default: Sequence[int]) -> frozenset[int]:
        """Read ports between commas."""
        return frozenset(int(word) for word in self._checked_words(name, [*map(str, default)], _port))

    def _checked_words(self, name: str, default: Sequence[str], check: Callable[[str], None]) -> list[str]:
        def check_all(text: str) -> None:
            for word in text.split(","):
                if word.strip():
                    check(word.strip())

        text = self.str(name, default=",".join(default), validate=check_all) or ""
        return [word.strip() for word in text.split(",") if word.strip()]

    def numbers(self) -> dict[str, Any]:
        """Read every field of Numbers from the variable of the same name in capitals; absent ones keep their default."""
        readers: dict[type, Callable[..., float | int]] = {float: self.float, int: self.int}
        return {
            field.name: readers[type(field.default)](field.name.upper(), default=field.default)
            for field in fields(Numbers)
        }

    def seal(self) -> None:
        """End reading. Raises InvalidEnvironment if anything was missing or wrong."""
        try:
            super().seal()
        except environs.EnvValidationError as error:
            raise InvalidEnvironment(_sentence(error.error_messages)) from None


def _sentence(errors: Any) -> str:
    messages: Mapping[str, list[str]] = errors
    missing = [name for name, said in messages.items() if said[0] in _MISSING]
    wrong = [f"{name} {_clause(said[0])}" for name, said in messages.items() if name not in missing]
    parts = [f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} not set"] if missing else []
    return f"Landfall cannot start: {'; '.join(parts + wrong)}. {HELP}"


def _clause(message: str) -> str:
    """What a reader says of a value, to follow the variable's name: "Not a valid number." or one of our own below."""
    return message if message.startswith("must") else f"is {message[:1].lower()}{message[1:].rstrip('.')}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _not_empty(value: str) -> None:
    if not value.strip():
        raise environs.ValidationError("empty")


def _postgres_url(value: str) -> None:
    try:
        engine = dj_database_url.parse(value).get("ENGINE")
    except ValueError:  # its message may quote a password
        engine = None
    if not engine or not engine.endswith(("postgresql", "postgis")):
        raise environs.ValidationError(f"must be like postgresql://user:password@host:5432/name, {_QUOTED}")


def _broker_url(value: str) -> None:
    for url in value.split(";"):
        if not _is_url(url):
            raise environs.ValidationError(f"must be like redis://:password@host:6379/0, {_QUOTED}")


def _is_url(text: str) -> bool:
    try:
        urlsplit(text).port  # noqa: B018  where a password with "/" makes it look in the wrong place
    except ValueError:
        return False
    return bool(urlsplit(text).scheme) and "://" in text


def _level(value: str) -> None:
    if value.upper() not in LEVELS:
        raise environs.ValidationError(f"must be one of {', '.join(LEVELS)}")


def _network(value: str) -> None:
    try:
        ip_network(value)
    except ValueError:
        raise environs.ValidationError("must be networks like 10.0.0.0/8,fd00::/8") from None


def _port(value: str) -> None:
    if not value.isascii() or not value.isdigit() or not 0 < int(value) < 65536:
        raise environs.ValidationError("must be ports like 443,8443")


def _dsn(value: str) -> None:
    if not value:
        return
    try:
        Dsn(value)
    except (BadDsn, ValueError):
        raise environs.ValidationError("must be like https://key@sentry.example.org/1") from None
