"""Typed readers for environment variables. A wrong value fails at start, with the variable's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from environs import Env

from notifications.numbers import Numbers

env = Env()


def numbers() -> dict[str, Any]:
    """Read every field of Numbers from the variable of the same name in capitals; absent ones keep their default."""
    readers: dict[type, Callable[..., float | int]] = {float: env.float, int: env.int}
    return {
        field.name: readers[type(field.default)](field.name.upper(), default=field.default) for field in fields(Numbers)
    }
