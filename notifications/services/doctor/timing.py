"""Times, sizes and limits: each in its range, and all of them fitting together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.conf import settings

from notifications.lanes import Priority
from notifications.numbers import Numbers, numbers
from notifications.services.doctor.findings import Finding

LAST_BATCH_SECONDS = 10  # what begins just in time takes a fraction of one, unless the database is slow

MAY_BE_ZERO = {
    "margin_seconds",
    "flush_seconds",
    "database_retry_seconds",
    "look_up_again_seconds",
    "account_open_seconds",
    "cache_seconds",
    "hint_circuit_seconds",
    "unmatched_alarm_seconds",
}


def findings() -> Iterator[Finding]:
    """What is wrong with the numbers and with Celery's limits around them."""
    these = numbers()
    for judge in (_ranges, _lease, _retries, _time_limits, _retention, _cleaning):
        yield from judge(these)
    yield from _visibility()


def _ranges(these: Numbers) -> Iterator[Finding]:
    for name, value in asdict(these).items():
        if value < 0 or (value == 0 and name not in MAY_BE_ZERO):
            least = "0 or more" if name in MAY_BE_ZERO else "more than 0"
            default = getattr(Numbers, name)
            yield Finding(
                "E010", f"{name.upper()} is {value:g}.", f"It must be {least}; unset it for the default, {default:g}."
            )


def _lease(these: Numbers) -> Iterator[Finding]:
    needed = these.longest_wave_seconds
    if these.lease_seconds < needed:
        yield Finding(
            "E011",
            f"LEASE_SECONDS is {these.lease_seconds:g}, shorter than a late start, a call's deadline and the margin together"
            f" ({needed:g} s): nothing is sent.",
            f"Set LEASE_SECONDS to {needed:g} or more (60 is the default), or shorten SEND_DEADLINE_SECONDS,"
            " CRITICAL_SEND_DEADLINE_SECONDS or MARGIN_SECONDS.",
        )


def _retries(these: Numbers) -> Iterator[Finding]:
    for priority in Priority.values:
        retry, expiry = f"{priority}_retry_seconds", f"{priority}_expiry_seconds"
        if getattr(these, retry) > getattr(these, expiry):
            yield Finding(
                "W016",
                f"{retry.upper()} is {getattr(these, retry):g}, longer than {expiry.upper()},"
                f" {getattr(these, expiry):g}: the last tries never happen.",
                f"Shorten {retry.upper()} or lengthen {expiry.upper()}.",
            )


def _time_limits(these: Numbers) -> Iterator[Finding]:
    soft, hard = _limit("CELERY_TASK_SOFT_TIME_LIMIT"), _limit("CELERY_TASK_TIME_LIMIT")
    if math.inf > soft >= hard:
        yield Finding(
            "E012",
            f"CELERY_TASK_SOFT_TIME_LIMIT ({soft} s) is not below CELERY_TASK_TIME_LIMIT ({hard} s).",
            "Lower the first: a task is to be told before it is killed.",
        )
    drain = these.longest_drain_seconds
    if soft < drain:
        yield Finding(
            "E013",
            f"CELERY_TASK_SOFT_TIME_LIMIT is {soft} s, and a drain may take {drain:g} s: it is cut off in the middle of calls.",
            "Lower DRAIN_SECONDS or raise the limits in config/settings.py.",
        )
    shutdown = getattr(settings, "CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT", 0.0)
    if shutdown < these.longest_wave_seconds:
        yield Finding(
            "W014",
            f"CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT is {shutdown} s, and calls under way may take {these.longest_wave_seconds:g} s:"
            " a deploy leaves uncertain messages.",
            "Raise it in config/settings.py, and keep the supervisor's patience above it.",
        )


def _limit(name: str) -> float:
    """A time limit of Celery's; without one a task may run for ever."""
    limit = getattr(settings, name, None)
    return math.inf if limit is None else limit


def _retention(these: Numbers) -> Iterator[Finding]:
    if these.delete_after_days <= these.redact_after_days:
        yield Finding(
            "W017",
            f"DELETE_AFTER_DAYS is {these.delete_after_days:g}, not longer than REDACT_AFTER_DAYS,"
            f" {these.redact_after_days:g}: notifications are deleted before they are redacted.",
            "Lengthen the first, or shorten the second.",
        )


def _cleaning(these: Numbers) -> Iterator[Finding]:
    if these.clean_share > 1:
        yield Finding(
            "E018",
            f"CLEAN_SHARE is {these.clean_share:g}, and a run takes no more than one core.",
            "Set it to 1 or less; unset it for the default, 0.5.",
        )
    soft = _limit("CELERY_TASK_SOFT_TIME_LIMIT")
    if soft < these.clean_seconds + LAST_BATCH_SECONDS:
        yield Finding(
            "W019",
            f"CELERY_TASK_SOFT_TIME_LIMIT is {soft} s, and cleaning may take {these.clean_seconds:g} s and a last batch:"
            " it may be cut off.",
            "Lower CLEAN_SECONDS or raise the limits in config/settings.py.",
        )


def _visibility() -> Iterator[Finding]:
    hard = _limit("CELERY_TASK_TIME_LIMIT")
    options: dict[str, Any] = getattr(settings, "CELERY_BROKER_TRANSPORT_OPTIONS", {})
    visible = options.get("visibility_timeout", 3600)  # Celery's default
    if visible < 2 * hard < math.inf:
        yield Finding(
            "W015",
            f"The broker's visibility_timeout is {visible} s, less than twice CELERY_TASK_TIME_LIMIT ({hard} s):"
            " tasks that still run start a second time.",
            f"Set it to {2 * hard} or more in CELERY_BROKER_TRANSPORT_OPTIONS, in every project on this broker.",
        )
