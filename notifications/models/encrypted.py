"""A JSON field that rests encrypted."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models


@cache
def _cipher() -> MultiFernet:
    """CREDENTIAL_KEYS, newest first: the first encrypts, each decrypts. Raises ImproperlyConfigured."""
    try:
        return MultiFernet([Fernet(key) for key in settings.CREDENTIAL_KEYS])
    except ValueError:
        raise ImproperlyConfigured("CREDENTIAL_KEYS must hold at least one Fernet key, and nothing else") from None


class EncryptedJSONField(models.BinaryField):  # type: ignore[type-arg]
    """A JSON value, encrypted with the first of CREDENTIAL_KEYS. Raises ImproperlyConfigured where no key fits."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["editable"] = True
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable", None)
        return name, path, args, kwargs

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        encrypted = None if value is None else _cipher().encrypt(json.dumps(value).encode())
        return super().get_db_prep_value(encrypted, connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        if value is None:
            return None
        try:
            return json.loads(_cipher().decrypt(bytes(value)))
        except InvalidToken:
            raise ImproperlyConfigured("CREDENTIAL_KEYS holds no key that opens the stored credentials") from None

    def value_to_string(self, obj: Any) -> str:
        raise TypeError("credentials are not serialized")
