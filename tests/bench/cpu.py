"""What processes have used, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")


def family(process_id: int) -> list[int]:
    """A process and all that descend from it."""
    try:
        children = [
            int(child)
            for listing in Path(f"/proc/{process_id}/task").glob("*/children")
            for child in listing.read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [process_id, *(descendant for child in children for descendant in family(child))]


def cpu_seconds(process_id: int) -> float:
    """User and system time of a process, its descendants, and those of them that have ended."""
    return sum(_ticks(member) for member in family(process_id)) * TICK


def _ticks(process_id: int) -> int:
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(map(int, fields[11:15]))  # utime, stime, and the same of children that ended


def memory_mib(process_id: int, *, shared_once: bool = False) -> float:
    """Resident memory of a process and its descendants. What they share counts for each, or once in all."""
    name, field = ("smaps_rollup", "Pss:") if shared_once else ("status", "VmRSS:")
    total = 0
    for member in family(process_id):
        try:
            lines = Path(f"/proc/{member}/{name}").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)
    return total / 1024
