"""How endpoints do: noted when one begins to fail and when it works again; who fails for long is told of, then switched off."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.db import transaction

import notifications.sql.endpoints as sql
from notifications.accounts import ConnectedAccount, accounts
from notifications.addresses import address_hash
from notifications.models import WebhookEndpoint
from notifications.numbers import numbers
from notifications.services import owners
from notifications.services.endpoints import switch_off
from providers.messages import Channel

log = structlog.get_logger(__name__)


class Health:
    """What this process has noted of endpoints.

    A failure is noted once in a while at most, so that one that fails now and then costs no statement a call; a success
    after a failure always is.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._noted: dict[int, tuple[bool, float]] = {}  # whether it works, and when that was noted; by account

    def note(self, account: ConnectedAccount, *, works: bool) -> None:
        """Note how a call to an endpoint ended, where that is news. Nothing of other accounts."""
        if account.is_failing is None:
            return
        now = self._monotonic()
        works_as_noted, noted_at = self._noted.get(account.id, (True, -math.inf))
        is_recent = now - noted_at < numbers().cache_seconds
        known = works_as_noted if is_recent else not account.is_failing
        if works is known or (is_recent and not works):
            return
        (sql.note_working if works else sql.note_failing)(account.id)
        self._noted[account.id] = (works, now)
        log.info("endpoint works again" if works else "endpoint fails", endpoint=account.slug)


health = Health()


def watch_endpoints(*, now: datetime) -> int:
    """Warn of endpoints that have failed for long, and switch off those that have for longer. Returns how many failed so.

    Safe to run twice at once.
    """
    warned_before = now - timedelta(seconds=numbers().endpoint_warn_seconds)
    failing = WebhookEndpoint.objects.filter(account__is_on=True, failing_since__lt=warned_before)
    return sum(_look_after(endpoint, now) for endpoint in failing.select_related("account").order_by("id"))


def _look_after(endpoint: WebhookEndpoint, now: datetime) -> bool:
    since = endpoint.failing_since
    if since is None or sql.has_worked(address_hash(Channel.WEBHOOK, endpoint.account.slug), since):
        sql.note_working(endpoint.account_id)  # what one process had noted when another one's success came in
        return False
    off_at = since + timedelta(seconds=numbers().endpoint_fail_seconds)
    account = accounts.get(endpoint.account_id)
    if off_at <= now and account is not None:
        switch_off(account, f"no call has succeeded since {since:%Y-%m-%d %H:%M} UTC")
    else:
        _warn(endpoint, since, off_at)
    return True


@transaction.atomic
def _warn(endpoint: WebhookEndpoint, since: datetime, off_at: datetime) -> None:
    """Once for each time that it fails."""
    if sql.note_warned(endpoint.account_id):
        log.warning("endpoint fails for long", endpoint=endpoint.account.slug, since=since.isoformat())
        owners.warn(endpoint, since=since, off_at=off_at)
