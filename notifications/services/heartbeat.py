"""Heartbeats: what shows that it works, and what has not for too long."""

from __future__ import annotations

import math
from collections.abc import Mapping

from notifications.hints import Hints
from notifications.lanes import Lane
from notifications.numbers import numbers
from notifications.sql.health import heartbeat_seconds
from notifications.sql.reconcile import beat

BEAT = "beat"  # the scheduler, as seen through the control lane
SWEEPER = "sweeper"  # a control worker's own timer, which lives on while nothing is taken from its lane
CANARIES = "canaries"  # noted when canaries begin to be sent, and when they begin again

Ages = Mapping[str, float]


def heartbeat(hints: Hints) -> None:
    """Show that beat schedules and a worker works, and have whoever consumes each lane show it too."""
    if is_beat_silent(ages()):
        beat(CANARIES)
    for lane in Lane:
        hints.canary(lane)
    beat(BEAT)


def ages() -> Ages:
    """For how many seconds each has shown nothing. One that never did is left out."""
    return heartbeat_seconds([BEAT, SWEEPER, CANARIES, *Lane.values])


def is_beat_silent(ages: Ages) -> bool:
    """Whether beat has shown nothing for too long, or never anything."""
    return BEAT not in ages or ages[BEAT] > numbers().beat_limit_seconds


def unconsumed(ages: Ages) -> dict[Lane, float]:
    """The lanes whose last sign is too old, and how old it is. One that was never served is left out.

    Empty while beat is silent: nobody sends canaries then. From its return on they have their time again.
    """
    limit = numbers().canary_limit_seconds
    if is_beat_silent(ages) or ages.get(CANARIES, math.inf) <= limit:
        return {}
    return {lane: ages[lane] for lane in Lane if ages.get(lane, 0.0) > limit}
