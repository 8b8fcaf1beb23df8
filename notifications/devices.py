"""Addresses that say who can reach them: devices by their push service, endpoints by their name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from providers.messages import Channel

DEVICE_CHARACTERS = 4096  # of one, its service included
SUBSCRIPTION = "webpush"  # what a browser hands out is an object; the other services have plain tokens

_DEVICE = re.compile(r"([a-z]{2,20}(?:/[a-z0-9-]{1,40})?):([\x21-\x7e]+)")
_BASE64 = re.compile(r"[A-Za-z0-9_-]+={0,2}")


def reach(channel: str, address: str) -> str:
    """Who can send to an address, in the word that a provider has for itself (`Provider.reach`); "" where anybody can."""
    if channel == Channel.PUSH:
        return address.partition(":")[0]
    return address if channel == Channel.WEBHOOK else ""


def spellings(channel: str, address: str) -> list[str]:
    """How an address may stand in what is written about it: as a whole, and as the device's own service knows it."""
    if channel != Channel.PUSH:
        return [address]
    known = address.partition(":")[2]
    try:
        parts = [*json.loads(known).values()] if known.startswith("{") else []
    except ValueError:
        parts = []
    ends = [part.rpartition("/")[2] for part in parts if "/" in part]  # of an endpoint, what no other device shares
    return [address, known, *parts, *ends]


def device(value: str | Mapping[str, Any]) -> str | None:
    """The one spelling of a device: `fcm:TOKEN`, `fcm/shop:TOKEN` for one of several apps, or `webpush:` and its subscription.

    Takes a subscription as the browser gives it, too. None for what is none of these.
    """
    if isinstance(value, Mapping):
        return _subscription(value)
    found = _DEVICE.fullmatch(value)
    if found is None or len(value) > DEVICE_CHARACTERS:
        return None
    if not found[1].startswith(SUBSCRIPTION):
        return value
    try:
        return _subscription(json.loads(found[2]), service=found[1])
    except (ValueError, RecursionError):
        return None


def _subscription(given: Any, service: str = SUBSCRIPTION) -> str | None:
    """A PushSubscription (https://www.w3.org/TR/push-api/#pushsubscription-interface), with what sending needs of it."""
    keys = given.get("keys") if isinstance(given, Mapping) else None
    if not isinstance(keys, Mapping):
        return None
    values = given.get("endpoint"), keys.get("p256dh"), keys.get("auth")
    endpoint, *secrets = values
    if not isinstance(endpoint, str) or not re.fullmatch(r"https://[\x21-\x7e]+", endpoint):
        return None
    if not all(isinstance(secret, str) and _BASE64.fullmatch(secret) for secret in secrets):
        return None
    text = json.dumps({"endpoint": endpoint, "p256dh": values[1], "auth": values[2]}, separators=(",", ":"))
    return f"{service}:{text}" if len(text) < DEVICE_CHARACTERS else None
