"""The scenes: what is sent, and what must become of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ROUTE = "demo-sms-then-email"
WINDOW_SECONDS = 4

# The last two digits choose what the recipient does: docs/sandbox.md.
ARRIVES, SILENT, UNDELIVERABLE, INVALID, TIMES_OUT = (f"+49151123456{role:02}" for role in (1, 2, 3, 4, 6))
MAIL = "delivered@example.org"


@dataclass(frozen=True)
class Step:
    """What must become of one message: its state, the account of each attempt, and whether a look-up found it."""

    channel: str
    state: str
    accounts: tuple[str, ...] = ()
    is_found: bool = False


@dataclass(frozen=True)
class Scene:
    """One notification. `before` happens first."""

    title: str
    to: dict[str, str]
    end: str
    steps: tuple[Step, ...]
    route: str = ROUTE
    before: Callable[[], None] = field(default=lambda: None)

    def request(self) -> dict[str, Any]:
        """The arguments of send()."""
        text = "Your table is ready"
        content = {"sms": {"text": text}, "email": {"subject": text, "text": f"{text}. See you soon!"}}
        return {
            "to": self.to,
            "content": {channel: content[channel] for channel in self.to},
            "route": self.route,
            "priority": "high",
        }


def scenes(begin_outage: Callable[[], None]) -> list[Scene]:
    """The story, in order."""
    delivered_mail = Step("email", "delivered", ("postmark-main",))
    return [
        Scene(
            "An SMS that arrives",
            {"sms": ARRIVES, "email": MAIL},
            "delivered",
            (Step("sms", "delivered", ("twilio-main",)),),
        ),
        Scene(
            "An SMS that cannot be delivered: e-mail at once",
            {"sms": UNDELIVERABLE, "email": MAIL},
            "delivered",
            (Step("sms", "failed", ("twilio-main",)), delivered_mail),
        ),
        Scene(
            f"An SMS that nobody hears of again: e-mail when its window of {WINDOW_SECONDS} s ends",
            {"sms": SILENT, "email": MAIL},
            "delivered",
            (Step("sms", "sent", ("twilio-main",)), delivered_mail),
        ),
        Scene(
            "A provider that takes the SMS and never answers: looked up, not sent twice",
            {"sms": TIMES_OUT},
            "delivered",
            (Step("sms", "delivered", ("twilio-main",), is_found=True),),
            route="sms",
        ),
        Scene(
            "A number that does not exist: refused, and suppressed",
            {"sms": INVALID},
            "failed",
            (Step("sms", "failed", ("twilio-main",)),),
            route="sms",
        ),
        Scene(
            "The same number again: nobody is called",
            {"sms": INVALID},
            "suppressed",
            (Step("sms", "suppressed"),),
            route="sms",
        ),
        Scene(
            "An outage of the first account: the second takes over",
            {"sms": ARRIVES},
            "delivered",
            (Step("sms", "delivered", ("twilio-main", "twilio-second")),),
            route="sms",
            before=begin_outage,
        ),
    ]
