"""Workers whose clocks are wrong by an hour."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.faults.house import WORKERS, House
from tests.faults.stage import Row, Stage

SOURCE = Path(__file__).parent.parent / "clock.c"


def shifted(stage: Stage) -> None:
    """Half the workers an hour ahead, half an hour behind. Python and Celery see it; the database has its own clock."""
    library = _library(stage.house)
    if library is None:
        stage.note("not played: no C compiler on this machine")
        return
    before = {name: stage.house.commands[name] for name in WORKERS}
    for name in WORKERS:
        offset = "3600" if name.endswith("1") else "-3600"
        _restart(stage.house, name, ["env", f"LD_PRELOAD={library}", f"CLOCK_OFFSET={offset}", *before[name]])
    stage.pause(12 * stage.size)
    stage.recovered(stage.house.recovery(), within=15, what="with wrong clocks")
    for name in WORKERS:
        _restart(stage.house, name, before[name])


def _restart(house: House, name: str, command: list[str]) -> None:
    house.processes.kill(name)
    house.start(name, command)


def _library(house: House) -> Path | None:
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = house.folder / "clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"], check=True)
    return library


ROWS = [Row("worker clocks an hour ahead and behind", shifted)]
