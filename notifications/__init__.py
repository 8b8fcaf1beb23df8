"""The product: takes notifications, delivers them, and can always say where each one is."""

from typing import Any

__all__ = ["Accepted", "Refused", "cancel", "send"]

_HOMES = {"send": "accept", "Accepted": "accept", "Refused": "accept", "cancel": "cancel"}


def __getattr__(name: str) -> Any:
    """Offer `send` and its companions here, though Django imports this package before its models exist."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"notifications.services.{_HOMES[name]}"), name)
