"""Named points between any two steps of the engine at which a process kills itself with SIGKILL, once per token.

A token is a file `<point>` in the folder that `FAULT_TOKENS` names, taken by renaming it. Its content says who dies:
"child", the process that came by, or "worker", its parent with it. Only the settings of the fault tests install this app.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from django.apps import AppConfig

POISON = "a text that kills its worker"
ALWAYS_RAISES = "a text that cannot be rendered"


@dataclass(frozen=True)
class Point:
    """Before or after a function, as its caller knows it. `when`: only for some of its results or arguments."""

    name: str
    module: str
    attribute: str
    after: bool
    when: Callable[..., bool] = lambda *_, **__: True


def _has_rows(batch: Any) -> bool:
    return bool(batch.rows)


def _goes_on(answer_to_curl: int) -> bool:
    return answer_to_curl == 0


POINTS = (
    Point("accepted, not committed", "notifications.sql.accept", "accept", after=True),
    Point("committed, not hinted", "notifications.hints", "_Drain.__call__", after=False),
    Point("claimed", "notifications.outbox", "claim", after=True, when=_has_rows),
    Point("prepared", "notifications.sql.begin", "begin", after=False),
    Point("begun", "notifications.sql.begin", "begin", after=True, when=bool),
    Point("bytes leave", "providers.transport.flights", "Flight.depart", after=True),
    Point("answered", "providers.transport.requests_", "_HttpLines.exchange", after=True),
    Point("bytes leave over curl", "providers.transport.handles", "Handle._before_sending", after=True, when=_goes_on),
    Point("answered over curl", "providers.transport.handles", "Handle.end", after=True),
    Point("before record", "notifications.services.answers", "record", after=False),
    Point("recorded, not committed", "notifications.services.record", "settle", after=False),
    Point("settled, not committed", "notifications.services.record", "settle", after=True),
    Point("recorded", "notifications.services.answers", "record", after=True, when=bool),
    Point("asked", "notifications.services.check", "_one_owner_each", after=True, when=bool),
    Point("report stored, not answered", "notifications.services.receive", "hints.apply", after=False),
    Point("apply, locked", "notifications.services.apply", "locks.lock", after=True, when=bool),
    Point("apply, not committed", "notifications.services.apply", "settle", after=True),
    Point("applied", "notifications.services.apply", "_apply_some", after=True, when=bool),
)


class Points(AppConfig):
    name = "tests.faults"
    label = "faults"
    path = str(Path(__file__).parent)

    def ready(self) -> None:
        folder = os.environ.get("FAULT_TOKENS")
        if folder is None:
            return
        for point in POINTS:
            _install(point, Path(folder))
        _install_poison()


def slug(point: str) -> str:
    """The name of a point's token."""
    return point.replace(",", "").replace(" ", "-")


def die_if_told(folder: Path, name: str) -> None:
    """Take the token of a point, if there is one, and die."""
    taken = folder / f"taken.{name}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        (folder / name).rename(taken)
    except FileNotFoundError:
        return
    if taken.read_text() == "worker":
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _install(point: Point, folder: Path) -> None:
    owner: Any = import_module(point.module)
    *path, attribute = point.attribute.split(".")
    for name in path:
        owner = getattr(owner, name)
    function = getattr(owner, attribute)
    name = slug(point.name)

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not point.after and point.when(*args, **kwargs):
            die_if_told(folder, name)
        result = function(*args, **kwargs)
        if point.after and point.when(result):
            die_if_told(folder, name)
        return result

    setattr(owner, attribute, wrapped)


def _install_poison() -> None:
    calls: Any = import_module("notifications.services.calls")
    render = calls.render

    def render_or_die(row: Any, useful_seconds: int | None) -> Any:
        text = row.content[row.channel].get("text", "")
        if POISON in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if ALWAYS_RAISES in text:
            raise RuntimeError("no message can be made of this")
        return render(row, useful_seconds)

    calls.render = render_or_die
