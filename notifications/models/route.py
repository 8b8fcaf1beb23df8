from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from providers.messages import Channel

STEPS_LIMIT = 10
WINDOW_LIMIT_SECONDS = 7 * 24 * 3600
WAITS_FOR = ("delivered", "accepted")
NEEDS = ("first", "all")
_NAMES = {"channel", "channels", "need", "wait_for", "window_seconds"}


def validate_steps(steps: Any) -> None:
    """Raises ValidationError, naming the step and what is accepted."""
    if not isinstance(steps, list) or not 1 <= len(steps) <= STEPS_LIMIT:
        raise ValidationError(f"Give a list of 1 to {STEPS_LIMIT} steps.")
    for number, step in enumerate(steps, 1):
        if problem := _problem(step):
            raise ValidationError(f"Step {number}: {problem}.")


def _problem(step: Any) -> str | None:
    if not isinstance(step, dict) or not step.keys() <= _NAMES:
        return f"give an object with {', '.join(sorted(_NAMES))}, and nothing else"
    if problem := _channel_problem(step):
        return problem
    if step.get("wait_for", WAITS_FOR[0]) not in WAITS_FOR:
        return f"`wait_for` must be one of {', '.join(WAITS_FOR)}"
    window = step.get("window_seconds", 1)
    if isinstance(window, bool) or not isinstance(window, int | float) or not 0 < window <= WINDOW_LIMIT_SECONDS:
        return f"`window_seconds` must be a number above 0, at most {WINDOW_LIMIT_SECONDS}"
    return None


def _channel_problem(step: dict[str, Any]) -> str | None:
    if ("channel" in step) == ("channels" in step):
        return "give either `channel` or, for several at once, `channels`"
    if "channel" in step and step["channel"] not in [*Channel]:
        return f"`channel` must be one of {', '.join(Channel)}"
    named = step.get("channels", [step.get("channel")])
    if not isinstance(named, list) or not named or not all(name in [*Channel] for name in named):
        return f"`channels` must be a list of {', '.join(Channel)}"
    if len(set(named)) < len(named):
        return "`channels` must name each channel once"
    if step.get("need", NEEDS[0]) not in NEEDS:
        return f"`need` must be one of {', '.join(NEEDS)}"
    return None


class Route(models.Model):
    """A name for steps, e.g. `[{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}]`.

    A step may go by several channels at once: `{"channels": ["push", "sms"], "need": "first"}` is delivered when one of
    them is, with `"all"` when something has arrived by each. A step waits for proof of `wait_for` (delivered, or accepted
    where a channel proves nothing) for `window_seconds`; then the next begins. Without a window the next begins only when
    all messages of the step have ended. Frozen into each notification.
    """

    name = models.SlugField(unique=True)
    steps = models.JSONField(validators=[validate_steps])

    class Meta:
        db_table = "route"

    def __str__(self) -> str:
        return self.name
