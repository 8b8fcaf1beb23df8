"""Workers that die, freeze, or are poisoned."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial

from config.processes import beat
from tests.faults.house import LEASE_SECONDS, WORKERS, stop_for_a_while
from tests.faults.points import ALWAYS_RAISES, POINTS, POISON
from tests.faults.stage import Row, Stage

IN_TURN = ("urgent-1", "other-1", "urgent-2", "other-2")  # so that another one serves the same lanes meanwhile
MOVES_WITHIN = LEASE_SECONDS + 2
LANES_OF_A_WORKER = 3
CONNECTS_WITHIN = 2.5  # seconds from a worker's first pool processes until it takes hints
DEATHS_AT_A_POINT = 78
BY_WEB = {
    "accepted, not committed",
    "committed, not hinted",
    "report stored, not answered",
}  # restarted in a second or two


def kill_groups(stage: Stage) -> None:
    """kill -9 of a worker with all its processes."""
    for turn in range(stage.times(20)):
        name = IN_TURN[turn % len(IN_TURN)]
        _have_another_serve(stage, name)
        claims = stage.house.claims()
        stage.house.kill(name)
        stage.verdict.worker_kills += 1
        stage.recovered(stage.house.until_moved(claims), within=MOVES_WITHIN, what="after a worker's death")


def kill_main_processes(stage: Stage) -> None:
    for turn in range(stage.times(20)):
        name = IN_TURN[turn % len(IN_TURN)]
        _have_another_serve(stage, name)
        claims = stage.house.claims()
        os.kill(stage.house.processes.process_id(name), signal.SIGKILL)
        stage.verdict.worker_kills += 1
        stage.recovered(stage.house.until_moved(claims), within=MOVES_WITHIN, what="after a main process's death")


def _have_another_serve(stage: Stage, name: str) -> None:
    """Wait for the other worker of the same lanes, which a kill before this one may have taken; and for a random while."""
    (other,) = (each for each in WORKERS if each != name and each.split("-")[0] == name.split("-")[0])
    if stage.house.wait(lambda: len(stage.house.children(other)) >= LANES_OF_A_WORKER, seconds=30):
        stage.pause(CONNECTS_WITHIN)
    stage.pause_about(0.5)


def kill_children(stage: Stage) -> None:
    for _ in range(stage.times(60)):
        stage.pause_about(0.25)
        children = stage.house.children(stage.random.choice(WORKERS))
        if children:
            with suppress(ProcessLookupError):
                os.kill(stage.random.choice(children), signal.SIGKILL)
                stage.verdict.kills += 1
    stage.recovered(stage.house.recovery(), within=2 * MOVES_WITHIN, what="after the last death")


def die_at(point: str, stage: Stage) -> None:
    """SIGKILL whoever comes by a point, over and over."""
    wanted = stage.times(5 if point in BY_WEB else DEATHS_AT_A_POINT)
    before = stage.house.deaths(point)

    def enough() -> bool:
        died = stage.house.deaths(point) - before
        if died < wanted:
            stage.house.put_token(point)
        return died >= wanted

    stage.house.wait(enough, seconds=90, every=0.02)
    stage.house.take_tokens_back()
    stage.verdict.kills += stage.house.deaths(point) - before
    stage.demand(stage.verdict.kills > 0, f"nobody came by the point {point!r}")
    stage.recovered(stage.house.recovery(), within=3 * MOVES_WITHIN, what="after the last death")


def die_with_the_worker(stage: Stage) -> None:
    """At a random point a pool process takes its whole worker along."""
    points = [point.name for point in POINTS if point.name not in BY_WEB]
    for _ in range(stage.times(24)):
        point = stage.random.choice(points)
        before = stage.house.deaths(point)
        stage.house.put_token(point, who="worker")
        if stage.house.wait(lambda point=point, before=before: stage.house.deaths(point) > before, seconds=10) is None:
            stage.house.take_tokens_back()
            continue
        stage.verdict.worker_kills += 1
        stage.pause_about(0.6)
    stage.recovered(stage.house.recovery(), within=3 * MOVES_WITHIN, what="after the last death")


def freeze_past_the_lease(stage: Stage) -> None:
    """SIGSTOP until others have finished the work, then SIGCONT."""
    for slug in ("twilio-found", "postmark-main"):
        stage.house.sandbox.set_faults(slug, latency_seconds=0.3)
    for _ in range(stage.times(3)):
        children = [child for name in WORKERS for child in stage.house.children(name)]
        frozen = stage.random.sample(children, k=max(1, len(children) // 3))
        stop_for_a_while(frozen, then=partial(stage.pause, LEASE_SECONDS + 2))
        stage.pause_about(0.5)
    stage.recovered(stage.house.recovery(), within=2 * MOVES_WITHIN, what="after the thaw")


def poison(stage: Stage) -> None:
    """Three texts that kill whoever renders them, three that always raise, and the others in between."""
    reference = f"{stage.load.label}-poison"
    for text in [POISON, ALWAYS_RAISES] * 3:
        stage.load.send(
            1,
            to={"email": "delivered@example.org"},
            content={"email": {"subject": "poison", "text": f"{text} {stage.random.random()}"}},
            route="email",
            priority="normal",
            reference=reference,
        )
    ends = 'SELECT "end" FROM notification WHERE reference = %s'
    given_up = stage.house.wait(
        lambda: [row[0] for row in stage.house.rows(ends, reference)] == ["dead_lettered"] * 6, seconds=90
    )
    stage.demand(given_up is not None, f"not all poison is in the dead letters: {stage.house.rows(ends, reference)}")
    stage.judged_apart = frozenset(
        str(row[0]) for row in stage.house.rows("SELECT id FROM notification WHERE reference = %s", reference)
    )
    stage.note("6 poisoned ones in the dead letters, the others flowed")


def deploy(stage: Stage) -> None:
    """SIGTERM worker by worker, web and beat; a column more; hints that nobody knows."""
    from celery import current_app

    house = stage.house
    for _ in range(stage.times(1)):
        house.run("ALTER TABLE message ADD COLUMN of_the_next_version text")
        for name in (*WORKERS, "web", "beat"):
            current_app.send_task("notifications.of_the_next_version", kwargs={"lane": "normal"}, queue="normal")
            current_app.send_task("notifications.drain", kwargs={"lane": "high", "depth": 3}, queue="high")
            house.stop(name)
            house.start(name)
            stage.pause_about(0.5)
        house.run("ALTER TABLE message DROP COLUMN of_the_next_version")
    stage.recovered(house.recovery(), within=10, what="after the deploy")


def two_beats(stage: Stage) -> None:
    house = stage.house
    house.start("beat-2", beat())
    stage.pause(10 * stage.size)
    house.stop("beat-2")
    house.expected_down.discard("beat-2")


def no_beat(stage: Stage) -> None:
    """Hints are lost as well: only the control workers' own timer is left."""
    house = stage.house
    house.stop("beat")
    for _ in range(stage.times(6)):
        stage.pause_about(1.5)
        with house.broker_client() as broker:
            broker.flushall()
    stage.recovered(house.recovery(), within=10, what="without beat, after FLUSHALL")
    house.start("beat")


ROWS = [
    Row("kill -9 of whole workers", kill_groups, per_second=20, is_short=True),
    Row("kill -9 of main processes only", kill_main_processes, per_second=20),
    Row("kill -9 of pool children", kill_children),
    *(
        Row(f"dies at: {point.name}", partial(die_at, point.name), per_second=25, is_short=point.name == "begun")
        for point in POINTS
    ),
    Row("whole worker dies at a random point", die_with_the_worker),
    Row("frozen past its lease, then resumed", freeze_past_the_lease),
    Row("poisoned messages", poison),
    Row("SIGTERM during a deploy, old and new mixed", deploy),
    Row("two beats", two_beats),
    Row("no beat, and hints lost", no_beat),
]
