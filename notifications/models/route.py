from __future__ import annotations

from django.db import models


class Route(models.Model):
    """A name for steps, e.g. `[{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}]`.

    A step waits for proof of `wait_for` (delivered, or accepted where a channel proves nothing) for `window_seconds`;
    then the next begins. Without a window the next begins only when the step has ended. Frozen into each notification.
    """

    name = models.SlugField(unique=True)
    steps = models.JSONField()

    class Meta:
        db_table = "route"

    def __str__(self) -> str:
        return self.name
