"""The Procfile: one line per process, `name: command`."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(r"(?P<name>[A-Za-z0-9_-]+)\s*:\s*(?P<command>\S.*)")


class BadProcfile(ValueError):
    """A line that cannot be read; says which."""


def read(path: Path) -> dict[str, str]:
    """The commands of a Procfile by name, in its order. Raises BadProcfile, OSError."""
    commands: dict[str, str] = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        found = _LINE.fullmatch(text)
        if found is None:
            raise BadProcfile(f"{path.name}, line {number}: not `name: command`")
        if found["name"] in commands:
            raise BadProcfile(f"{path.name}, line {number}: {found['name']} is there twice")
        commands[found["name"]] = found["command"]
    return commands


def in_shell(command: str) -> list[str]:
    """A line's command as arguments: the shell fills in ${…}, `env` takes VAR=value, and the program replaces both.

    So the process we start is the program itself, and a signal reaches it. A line holds one command: no `&&`, no pipe.
    """
    return ["/bin/sh", "-c", f"exec env {command}"]
