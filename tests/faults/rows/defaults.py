"""Every setting of Celery at its default: slower, still correct."""

from __future__ import annotations

from tests.faults.house import WORKERS
from tests.faults.stage import Row, Stage


def everything(stage: Stage) -> None:
    """Workers and pool processes killed, the broker emptied and restarted, the database restarted."""
    house = stage.house
    for turn in range(stage.times(6)):
        stage.pause_about(1.5)
        house.kill(stage.random.choice(WORKERS))
        stage.verdict.worker_kills += 1
        with house.broker_client() as broker:
            broker.flushall()
        if turn % 3 == 0:
            house.broker.stop()
            stage.pause_about(1.5)
            house.broker.start()
        if turn % 3 == 1:
            house.postgres.stop()
            house.postgres.start()
    stage.recovered(house.recovery(seconds=180), within=180, what="with everything at its default")


ROWS = [Row("all Celery settings at their defaults", everything, house="defaults")]
