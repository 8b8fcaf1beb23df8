"""Every theme in turn: first what needs nothing but settings, then the servers, then the rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from django.db import DatabaseError, InterfaceError

from notifications.services.doctor import (
    accounts,
    broker,
    database,
    endpoints,
    processes,
    public_url,
    region,
    routes,
    secrets,
    timing,
    waiting,
)
from notifications.services.doctor.findings import Finding, Severity

Check = Callable[[], Iterable[Finding]]

# Each with the sentence that is said when nothing is found.
SETTINGS: tuple[tuple[Check, str], ...] = (
    (secrets.findings, "Secrets are set and look random."),
    (timing.findings, "Times, sizes and limits fit together."),
    (public_url.findings, "PUBLIC_URL has a form that can be called."),
    (region.findings, "DEFAULT_REGION is a region, or unset."),
)
ROWS: tuple[tuple[Check, str], ...] = (
    (accounts.findings, "Provider accounts are complete and in use."),
    (endpoints.findings, "Endpoints are on, and may be called."),
    (routes.findings, "Routes are valid."),
    (waiting.findings, "Nothing waits for a person."),
)


def examine(task_names: Collection[str]) -> Iterator[Finding]:
    """Look at everything. `task_names` are the tasks that workers know."""
    for check, all_well in SETTINGS:
        yield from _told(check, all_well)
    yield from broker.findings()
    server = list(database.findings())
    yield from server
    if any(finding.code in database.CLOSED for finding in server):
        return
    migrations = list(_told(database.migrations, "Migrations are applied."))
    yield from migrations
    if any(finding.severity is Severity.ERROR for finding in migrations):  # the tables may not be there yet
        return
    yield from _told(
        partial(processes.findings, task_names), "Beat and the workers have been seen, and nothing is overdue."
    )
    for check, all_well in ROWS:
        yield from _told(check, all_well)


def _told(check: Check, all_well: str) -> Iterator[Finding]:
    """What a check finds, or that all is well."""
    try:
        found = list(check())
    except (DatabaseError, InterfaceError) as error:
        found = [Finding("E039", f"The database failed a check: {type(error).__name__}.", "Run this again.")]
    yield from found or [Finding("", all_well)]
