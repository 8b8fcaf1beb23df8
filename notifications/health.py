"""Two addresses for probes: is this process alive, and can this house do its work?"""

from __future__ import annotations

from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from notifications.services.health import Health, look

log = structlog.get_logger(__name__)

NOT_KEPT = {"Cache-Control": "no-store"}


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers. Asks nobody else: restarting it would mend neither database nor broker."""
    return HttpResponse("alive\n", content_type="text/plain", headers=NOT_KEPT)


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 if every check is as it must be, else 503; warnings change nothing. Answers within two seconds or so.

    A backlog makes every web process "not ready", since it is one house: alarm on it, and let deploys wait for it, but
    balance load by `alive`.
    """
    health = look()
    response = JsonResponse(_told(health), status=200 if health.is_ready else 503, headers=NOT_KEPT)
    if not health.is_ready:
        log.warning("not ready", failed=[check.name for check in health.checks if not check.is_ok])
        response._has_been_logged = True  # type: ignore[attr-defined]  # by Django it would be, as an error, each time
    return response


def _told(health: Health) -> dict[str, Any]:
    return {
        "ready": health.is_ready,
        "checks": {check.name: {"ok": check.is_ok, **check.facts} for check in health.checks},
        "warnings": health.warnings,
    }
