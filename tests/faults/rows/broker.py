"""A broker that forgets, goes away, freezes, fills up, or holds rubbish."""

from __future__ import annotations

from functools import partial

from tests.faults.house import stop_for_a_while
from tests.faults.stage import Row, Stage

FULL_RATE_WITHIN = 10.0
EXTRA_SECONDS = 1.6  # the most that accepting may take longer


def flush(stage: Stage) -> None:
    with stage.house.broker_client() as broker:
        for _ in range(stage.times(10)):
            stage.pause_about(1)
            broker.flushall()
    stage.recovered(stage.house.recovery(), within=FULL_RATE_WITHIN, what="after the last FLUSHALL")


def down(stage: Stage) -> None:
    stage.load.told.slowest_seconds = 0.0
    stage.house.broker.stop()
    stage.pause(30 * stage.size)
    stage.demand(stage.load.told.slowest_seconds < EXTRA_SECONDS, _slow(stage))
    stage.note(f"slowest 202 meanwhile {stage.load.told.slowest_seconds:.2f} s")
    stage.house.broker.start()
    stage.recovered(stage.house.recovery(), within=FULL_RATE_WITHIN, what="after the broker's return")


def frozen(stage: Stage) -> None:
    process = stage.house.broker.process_id
    stage.load.told.slowest_seconds = 0.0
    stop_for_a_while([process], then=partial(stage.pause, 30 * stage.size))
    stage.demand(stage.load.told.slowest_seconds < EXTRA_SECONDS, _slow(stage))
    stage.note(f"slowest 202 meanwhile {stage.load.told.slowest_seconds:.2f} s")
    stage.recovered(stage.house.recovery(seconds=90), within=60, what="after the thaw")


def _slow(stage: Stage) -> str:
    return f"accepting took {stage.load.told.slowest_seconds:.2f} s, promised within {EXTRA_SECONDS:g} s"


def restart_often(stage: Stage) -> None:
    for _ in range(stage.times(8)):
        stage.house.broker.stop()
        stage.pause_about(0.5)
        stage.house.broker.start()
        stage.pause_about(1.5)
    stage.recovered(stage.house.recovery(), within=FULL_RATE_WITHIN, what="after the last restart")


def demoted(stage: Stage) -> None:
    """A failover: the primary turns into a read-only replica of nobody."""
    with stage.house.broker_client() as broker:
        broker.execute_command("REPLICAOF", "127.0.0.1", "1")
        stage.pause(8 * stage.size)
    with stage.house.broker_client() as broker:
        broker.execute_command("REPLICAOF", "NO", "ONE")
    stage.recovered(stage.house.recovery(), within=3 * FULL_RATE_WITHIN, what="after the failover")
    stage.note(f"{stage.house.restarts} processes restarted by their supervisor so far")


def full(stage: Stage) -> None:
    with stage.house.broker_client() as broker:
        broker.config_set("maxmemory", "1")
        stage.pause(8 * stage.size)
        broker.config_set("maxmemory", "0")
    stage.recovered(stage.house.recovery(), within=FULL_RATE_WITHIN, what="once there was room again")


def rubbish(stage: Stage) -> None:
    """What nobody can decode in every lane's list, and what looks like a message and is none."""
    from django.conf import settings

    from notifications.lanes import Lane

    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"]
    for garbage in (b"\xff\x00 not json", b'{"body": "e30=", "headers": {"task": "no.such.task", "id": "1"}}'):
        with stage.house.broker_client() as broker:
            for lane in Lane.values:
                broker.lpush(f"{prefix}{lane}", garbage)
        stage.pause_about(1)
    # What cannot be decoded ends the worker that takes it: each of them is started again several times.
    stage.recovered(stage.house.recovery(seconds=120), within=90, what="after the rubbish")
    stage.note(f"{stage.house.restarts} processes restarted by their supervisor so far")


def half_open(stage: Stage) -> None:
    """Connections stay up, and what goes over them vanishes: a firewall that forgot them."""
    proxy = stage.house.proxy
    proxy.swallows.set()
    stage.load.told.slowest_seconds = 0.0
    stage.pause(10)
    proxy.forget_old_connections()  # what was open stays dead; new ones work
    stage.recovered(stage.house.recovery(seconds=120), within=60, what="after the connections were lost")
    stage.demand(stage.load.told.slowest_seconds < EXTRA_SECONDS, _slow(stage))


ROWS = [
    Row("FLUSHALL at random moments", flush, is_short=True),
    Row("broker down for 30 s", down),
    Row("broker frozen for 30 s", frozen),
    Row("broker restarted 8 times in 20 s", restart_often),
    Row("broker demoted to a replica", demoted),
    Row("broker full (noeviction)", full),
    Row("rubbish and unknown tasks in the queues", rubbish),
    Row("half-open connections to the broker", half_open, house="proxied"),
]
