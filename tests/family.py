"""Processes and their descendants, as Linux knows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    id: int
    parent: int
    name: str

    @property
    def command(self) -> str:
        """Its command line; nothing once it is gone."""
        try:
            return Path(f"/proc/{self.id}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            return ""


def living_processes() -> list[Process]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = stat.read_text().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, parent = after.split()[:2]
        if state != "Z":
            found.append(Process(int(stat.parent.name), int(parent), before.partition("(")[2]))
    return found


def is_alive(process_id: int) -> bool:
    return process_id in {process.id for process in living_processes()}


def descendants(ancestor: int) -> set[Process]:
    living, family = living_processes(), {ancestor}
    while more := {process.id for process in living if process.parent in family} - family:
        family |= more
    return {process for process in living if process.id in family - {ancestor}}
