"""Routes: steps that can be taken, and names that lead somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.exceptions import ValidationError

from notifications.models import Client, Route
from notifications.models.route import validate_steps
from notifications.services.doctor.findings import Finding, listed


def findings() -> Iterator[Finding]:
    """What is wrong with routes, and with clients' default ones."""
    routes = dict(Route.objects.order_by("name").values_list("name", "steps"))
    for name, steps in routes.items():
        try:
            validate_steps(steps)
        except ValidationError as error:
            yield Finding("E070", f"Route {name} is not valid. {' '.join(error.messages)}", "Correct it in the admin.")
    for client, default in (
        Client.objects.exclude(default_route="").order_by("name").values_list("name", "default_route")
    ):
        if default not in routes:
            yield Finding(
                "E071",
                f"Client {client} has the default route {default!r}, which does not exist.",
                f"Use one of {listed(routes)}." if routes else "Add it.",
            )
