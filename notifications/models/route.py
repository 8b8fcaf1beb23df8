from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from providers.messages import Channel

STEPS_LIMIT = 10
WINDOW_LIMIT_SECONDS = 7 * 24 * 3600
WAITS_FOR = ("delivered", "accepted")
_NAMES = {"channel", "wait_for", "window_seconds"}


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
    if step.get("channel") not in set(Channel):
        return f"`channel` must be one of {', '.join(Channel)}"
    if step.get("wait_for", WAITS_FOR[0]) not in WAITS_FOR:
        return f"`wait_for` must be one of {', '.join(WAITS_FOR)}"
    window = step.get("window_seconds", 1)
    if isinstance(window, bool) or not isinstance(window, int | float) or not 0 < window <= WINDOW_LIMIT_SECONDS:
        return f"`window_seconds` must be a number above 0, at most {WINDOW_LIMIT_SECONDS}"
    return None


class Route(models.Model):
    """A name for steps, e.g. `[{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}]`.

    A step waits for proof of `wait_for` (delivered, or accepted where a channel proves nothing) for `window_seconds`;
    then the next begins. Without a window the next begins only when the step has ended. Frozen into each notification.
    """

    name = models.SlugField(unique=True)
    steps = models.JSONField(validators=[validate_steps])

    class Meta:
        db_table = "route"

    def __str__(self) -> str:
        return self.name
