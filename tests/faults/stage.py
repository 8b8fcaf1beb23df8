"""How one row is played: a load, a fault, rest, a verdict."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from django.db import connection

from tests.faults.house import House
from tests.faults.judge import Verdict, judge
from tests.faults.load import Load

REST_SECONDS = 75.0


@dataclass
class Stage:
    """What a fault has at hand while the load goes on."""

    house: House
    load: Load
    random: Random
    verdict: Verdict
    size: float  # 1 in the full set; smaller in the short one
    patience: float = 1.0  # beside other work, recovery takes longer
    forgotten: frozenset[str] = frozenset()  # accepted after the backup
    restored_at: float | None = None  # when that backup was put back, in seconds since 1970
    judged_apart: frozenset[str] = frozenset()  # by the row itself

    def times(self, count: int) -> int:
        """How often a fault is repeated at this size."""
        return max(1, round(count * self.size))

    def pause(self, seconds: float) -> None:
        self.house.pause(seconds)

    def pause_about(self, seconds: float) -> None:
        """Wait for a random while, half as long to half as long again."""
        self.house.pause(self.random.uniform(0.5, 1.5) * seconds)

    def recovered(self, seconds: float | None, *, within: float, what: str) -> None:
        """Note how long a recovery took; None means that it never came."""
        if seconds is None:
            self.verdict.broken.append(f"{what}: has not recovered")
            return
        self.verdict.recovery_seconds = max(self.verdict.recovery_seconds or 0.0, seconds)
        within *= self.patience
        if seconds > within:
            self.verdict.broken.append(f"{what}: recovered after {seconds:.1f} s, promised within {within:g} s")

    def note(self, text: str) -> None:
        self.verdict.notes.append(text)

    def demand(self, is_so: bool, otherwise: str) -> None:
        if not is_so:
            self.verdict.broken.append(otherwise)


@dataclass(frozen=True)
class Row:
    """One fault. `lies`: the sandbox does not show what it has, so that providers searched by recipient may be sent to twice."""

    name: str
    fault: Callable[[Stage], None]
    per_second: float = 30.0
    lies: bool = False
    is_short: bool = False  # played in the short selection as well
    house: str = "usual"
    group: str = ""


@dataclass
class Numbers:
    """Numbers for recipients, so that no two rows share one."""

    next: int = 100_000
    rows: int = field(default=0)


def play(row: Row, house: House, *, seed: int, size: float, patience: float, numbers: Numbers) -> Verdict:
    """Play one row and judge it. `patience` multiplies the times within which things must recover."""
    random = Random(f"{seed} {row.name}")
    numbers.rows += 1
    label = f"row{numbers.rows}"
    verdict = Verdict(row.name, row.group)
    began_at = time.monotonic()
    load = Load(
        house.web_url,
        house.api_key,
        label=label,
        random=random,
        per_second=row.per_second,
        first_number=numbers.next,
    )
    with load:
        stage = Stage(house, load, random, verdict, size, patience)
        house.pause(1.0)
        try:
            row.fault(stage)
        except Exception as error:  # a row that cannot be played is broken, and the others go on
            verdict.broken.append(f"could not be played: {error!r}")
        finally:
            _restore(house)
        house.pause(0.5)
        _end(load, house)
    numbers.next += load.told.asked + 1
    _rest(house, label)
    connection.close()  # the one of this process may not have outlived the fault
    for id in stage.judged_apart:
        load.told.accepted.pop(id, None)
    judge(
        house,
        load.told,
        label,
        verdict,
        lied=row.lies,
        forgotten=stage.forgotten,
        restored_at=stage.restored_at,
    )
    if load.told.given_up:
        verdict.notes.append(f"{load.told.given_up} requests never answered")
    verdict.seconds = time.monotonic() - began_at
    return verdict


def _restore(house: House) -> None:
    """Nothing of a fault outlives its row."""
    house.take_tokens_back()
    for account in house.sandbox.accounts():
        house.sandbox.set_faults(account["slug"], **dict.fromkeys(house.sandbox.faults(account["slug"]).as_json()))
    for name in list(house.expected_down):
        house.start(name)


def _end(load: Load, house: House) -> None:
    """Stop asking; while the last answers are waited for, the house is tended."""
    ending = threading.Thread(target=load.stop)
    ending.start()
    house.wait(lambda: not ending.is_alive(), seconds=120)


def _rest(house: House, label: str) -> None:
    """Wait until every notification of the row has come to an end."""
    open_ones = 'SELECT count(*) FROM notification WHERE reference = %s AND "end" IS NULL'
    house.wait(lambda: house.rows(open_ones, label)[0][0] == 0, seconds=REST_SECONDS, every=0.25)
    house.sandbox.wait_idle(5)
