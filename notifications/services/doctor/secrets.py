"""Secrets: there, and hard to guess. They are judged, never shown."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterator

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from notifications.services.doctor.findings import Finding
from notifications.services.doctor.public_url import is_for_this_machine

SHORTEST = 32  # characters
FEWEST_DIFFERENT = 8  # characters; 32 random hexadecimal digits have fewer once in millions
DEFAULT_LOOKING = ("change", "secret", "insecure", "password", "example", "default", "12345678")

MAKE_ONE = "Take a fresh one from `manage.py doctor --example`"
AFTERWARDS = {
    "SECRET_KEY": "everyone signs in again",
    "ADDRESS_KEY": "suppressions made under the old key no longer apply",
}


def findings() -> Iterator[Finding]:
    """What is wrong with SECRET_KEY, ADDRESS_KEY and CREDENTIAL_KEYS."""
    secrets = {"SECRET_KEY": _secret_key(), "ADDRESS_KEY": settings.ADDRESS_KEY.decode("latin-1")}
    for name, secret in secrets.items():
        yield from _secret(name, secret)
    if secrets["SECRET_KEY"] and secrets["SECRET_KEY"] == secrets["ADDRESS_KEY"]:
        yield Finding("W004", "SECRET_KEY and ADDRESS_KEY are the same.", "Give SECRET_KEY a value of its own.")
    yield from _credential_keys(settings.CREDENTIAL_KEYS)


def weakness(secret: str) -> str | None:
    """Why a secret could be guessed; None for one that looks random."""
    looks_like = next((word for word in DEFAULT_LOOKING if word in secret.lower()), None)
    if looks_like:
        return f'looks like a default: it contains "{looks_like}"'
    if len(secret) < SHORTEST:
        return f"is short: {len(secret)} characters, fewer than {SHORTEST}"
    if len(set(secret)) < FEWEST_DIFFERENT or secret in (secret + secret)[1:-1]:
        return "repeats itself"
    return None


def _secret_key() -> str:
    try:
        return settings.SECRET_KEY
    except ImproperlyConfigured:  # Django's word for an empty one
        return ""


def _secret(name: str, secret: str) -> Iterator[Finding]:
    if not secret:
        yield Finding("E001", f"{name} is not set.", f"{MAKE_ONE}.")
    elif reason := weakness(secret):
        code = "W002" if is_for_this_machine() else "E002"
        yield Finding(code, f"{name} {reason}.", f"{MAKE_ONE}; afterwards {AFTERWARDS[name]}.")


def _credential_keys(keys: list[str]) -> Iterator[Finding]:
    if not keys:
        yield Finding("E001", "CREDENTIAL_KEYS is not set.", f"{MAKE_ONE}.")
    for number, key in enumerate(keys, 1):
        which = f"Key {number} of {len(keys)} in CREDENTIAL_KEYS" if len(keys) > 1 else "CREDENTIAL_KEYS"
        try:
            Fernet(key)
        except ValueError:
            yield Finding("E003", f"{which} is no Fernet key (32 bytes in URL-safe base64).", f"{MAKE_ONE}.")
            continue
        if len(set(urlsafe_b64decode(key))) < FEWEST_DIFFERENT:
            code = "W002" if is_for_this_machine() else "E002"
            remedy = f"{MAKE_ONE} and put it first, then save each account's credentials again and drop this one."
            yield Finding(code, f"{which} repeats itself.", remedy)
