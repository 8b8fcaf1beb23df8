"""Django's system checks: what the doctor finds without a network always, what it finds in the database when asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import structlog
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS

from notifications.services.doctor import accounts, database, endpoints, routes
from notifications.services.doctor.examination import SETTINGS
from notifications.services.doctor.findings import Finding, Severity

log = structlog.get_logger(__name__)

MESSAGES = {Severity.WARNING: Warning, Severity.ERROR: Error}  # notes are the doctor's alone


@register()
def settings_fit(app_configs: Any = None, **_: Any) -> list[CheckMessage]:
    """What is wrong with the settings, on every command and at every start."""
    return _messages(finding for check, _ in SETTINGS for finding in check())


def say_at_start() -> None:
    """Log what is wrong with the settings. Commands print it; the web process, workers and beat would stay silent."""
    for message in settings_fit():
        if not message.is_silenced():
            say = log.error if message.is_serious() else log.warning
            say("misconfigured", id=message.id, fact=message.msg, remedy=message.hint)


@register(Tags.database)
def database_fits(app_configs: Any = None, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """What is wrong with the database and what is stored in it: `manage.py check --database default`."""
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    return _messages(_stored())


def _stored() -> Iterator[Finding]:
    found = list(database.findings())
    yield from found
    if any(finding.code in database.CLOSED for finding in found) or any(database.migrations()):
        return  # `migrate` runs the checks too, when there are no tables yet
    yield from accounts.findings()
    yield from endpoints.findings()
    yield from routes.findings()


def _messages(findings: Iterable[Finding]) -> list[CheckMessage]:
    return [
        MESSAGES[finding.severity](finding.fact, hint=finding.remedy, id=f"landfall.{finding.code}")
        for finding in findings
        if finding.severity in MESSAGES
    ]
