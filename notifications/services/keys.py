"""API keys: made once, shown once, stored hashed."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Q

from notifications.models import ApiKey, Client

PREFIX = "lf_live_"
SHOWN_CHARACTERS = len(PREFIX) + 6  # enough to tell keys apart, too little to use one
USE_NOTED_EVERY = timedelta(minutes=1)


class Scope(StrEnum):
    SUBMIT = "submit"
    READ = "read"
    CANCEL = "cancel"
    ENDPOINTS = "endpoints"


class NotAuthenticated(Exception):
    """The key is missing, unknown, expired or revoked, or its client is switched off: not said which."""


class NotAllowed(Exception):
    """The key lacks a scope."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope.value)
        self.scope = scope


def make_key(client: Client, scopes: Sequence[Scope], *, expires_at: datetime | None = None) -> str:
    """Make a key for a client. The text returned is stored nowhere."""
    text = PREFIX + secrets.token_urlsafe(32)
    ApiKey.objects.create(
        client=client,
        prefix=text[:SHOWN_CHARACTERS],
        key_hash=_hash(text),
        scopes=[scope.value for scope in scopes],
        expires_at=expires_at,
    )
    return text


def authenticate(text: str, scope: Scope, *, now: datetime) -> ApiKey:
    """The key behind a text, its client loaded. Raises NotAuthenticated, NotAllowed.

    A hash is looked up, so that how long it takes tells nothing about keys that are nearly right.
    """
    valid = Q(revoked_at__isnull=True) & (Q(expires_at__isnull=True) | Q(expires_at__gt=now))
    key = ApiKey.objects.select_related("client").filter(valid, key_hash=_hash(text), client__is_active=True).first()
    if key is None:
        raise NotAuthenticated
    if scope.value not in key.scopes:
        raise NotAllowed(scope)
    if key.last_used_at is None or now - key.last_used_at > USE_NOTED_EVERY:
        ApiKey.objects.filter(id=key.id).update(last_used_at=now)
    return key


def revoke(key_ids: Iterable[int], *, now: datetime) -> int:
    """End keys at once. Returns how many were in use until now."""
    return ApiKey.objects.filter(id__in=list(key_ids), revoked_at__isnull=True).update(revoked_at=now)


def _hash(text: str) -> str:
    """Plain SHA-256: the key is 256 random bits, so there is nothing to guess slowly."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
