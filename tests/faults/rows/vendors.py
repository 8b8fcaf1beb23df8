"""Providers that are slow, silent, forgetful, down, or tell too much."""

from __future__ import annotations

from typing import Any

from tests.faults.house import ACCOUNTS
from tests.faults.stage import Row, Stage

SMS = ("twilio-found", "twilio-blind")
ALL = tuple(ACCOUNTS)


def _with(stage: Stage, seconds: float, *accounts: str, **faults: Any) -> None:
    for slug in accounts:
        stage.house.sandbox.set_faults(slug, **faults)
    stage.pause(seconds * stage.size)
    for slug in accounts:
        stage.house.sandbox.set_faults(slug, **dict.fromkeys(faults))


def unclear_errors(stage: Stage) -> None:
    """500 without a word whether it was taken, then success."""
    for _ in range(stage.times(4)):
        _with(stage, 1.5 / stage.size, *ALL, outage="status_500")
        stage.pause_about(1.5)


def rate_limited(stage: Stage) -> None:
    _with(stage, 6, *ALL, rate_limit=2, retry_after_seconds=1)


def dripping(stage: Stage) -> None:
    """The answer comes a byte at a time: only a deadline over the whole call ends it."""
    _with(stage, 6, *ALL, drip=True)


def outage(stage: Stage) -> None:
    """Both SMS providers close every connection without a word; then 503."""
    _with(stage, 6, *SMS, outage="drop")
    _with(stage, 6, *SMS, outage="status_503")


def taken_and_dropped(stage: Stage) -> None:
    """Every message is taken, and no answer ever comes."""
    _with(stage, 8, *ALL, accept_then_drop=True)


def early_receipts(stage: Stage) -> None:
    """The report is there before the answer to the send."""
    _with(stage, 6, *ALL, latency_seconds=0.5)


def receipt_storm(stage: Stage) -> None:
    """Each report ten times, shuffled."""
    _with(stage, 6, *ALL, callback_repeat=10, callback_shuffle=True)


def silent(stage: Stage) -> None:
    """No report at all: everything is asked for."""
    _with(stage, 6, *ALL, silent=True)


def lies(stage: Stage) -> None:
    """Taken and dropped, and the search by recipient does not show it: the one thing nobody can guard against."""
    for slug in SMS:
        stage.house.sandbox.set_faults(slug, look_up_blind=True, silent=True)
    _with(stage, 6, *SMS, accept_then_drop=True)
    stage.pause(8 * stage.size)


ROWS = [
    Row("500 without a word, then success", unclear_errors),
    Row("429 with Retry-After, every other request", rate_limited),
    Row("answers a byte at a time", dripping),
    Row("outage of both SMS providers", outage),
    Row("taken, and the connection dropped", taken_and_dropped, is_short=True),
    Row("receipts before the send is recorded", early_receipts),
    Row("receipts ten times each, shuffled", receipt_storm, per_second=20),
    Row("no receipts at all", silent),
    Row("searches that do not show what is there", lies, lies=True),
]
