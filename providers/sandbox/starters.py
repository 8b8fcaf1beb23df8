"""The accounts that the sandbox plays when it is told of none: two for SMS, so that one can fail, and one for e-mail."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from providers.messages import Channel


def _twilio() -> dict[str, str]:
    return {"account_sid": f"AC{secrets.token_hex(16)}", "auth_token": secrets.token_hex(16)}


def _postmark() -> dict[str, str]:
    return {
        "server_token": secrets.token_hex(16),
        "webhook_user": "sandbox",
        "webhook_password": secrets.token_hex(16),
    }


@dataclass(frozen=True)
class Starter:
    """An account to begin with. `credentials` are made afresh by each call; a lower `priority` is tried first."""

    slug: str
    provider: str
    channel: Channel
    priority: int
    sender: str
    credentials: Callable[[], dict[str, str]]


STARTERS = (
    Starter("twilio-main", "twilio", Channel.SMS, 1, "+15005550006", _twilio),
    Starter("twilio-second", "twilio", Channel.SMS, 2, "+15005550006", _twilio),
    Starter("postmark-main", "postmark", Channel.EMAIL, 1, "no-reply@example.org", _postmark),
)
