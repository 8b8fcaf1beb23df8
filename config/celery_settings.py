"""What of Django's settings Celery gets: those that begin with CELERY_, under Celery's own names.

Whoever may look into a worker (`inspect conf`, Flower) sees all that Celery was given, and it masks values by its own
names only: CELERY_BROKER_URL would be shown with its password.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

PREFIX = "CELERY_"
ASKED_FOR_AS_THEY_ARE = frozenset({"CELERY_DB_REUSE_MAX"})  # by Celery's Django fixup


def _name(setting: str) -> str:
    return setting if setting in ASKED_FOR_AS_THEY_ARE else setting.removeprefix(PREFIX).lower()


CELERY: dict[str, Any] = {_name(name): getattr(settings, name) for name in dir(settings) if name.startswith(PREFIX)}
