"""What several processes say, on one screen: each line after the name of who said it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle

_COLOURS = ("36", "33", "32", "35", "34", "96", "93", "92", "95", "94")  # of ANSI terminals
LONGEST_LINE_BYTES = 64 * 1024  # a longer one is broken, so that no process can fill our memory


class Lines:
    """Bytes as they come from a pipe, cut into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, read: bytes) -> list[str]:
        """The lines that are complete now."""
        *lines, self._rest = (self._rest + read).split(b"\n")
        if len(self._rest) > LONGEST_LINE_BYTES:
            lines.append(self._rest)
            self._rest = b""
        return [_text(line) for line in lines]

    def end(self) -> list[str]:
        """What was left without a line's end."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


class Screen:
    """Writes lines after the name of the process, in one colour per name where there are colours."""

    def __init__(self, names: Iterable[str], write: Callable[[str], object], *, is_coloured: bool) -> None:
        self._write = write
        names = list(names)
        width = max(map(len, names), default=0)
        colours = dict(zip(names, cycle(_COLOURS), strict=False)) if is_coloured else {}
        self._prefixes = {name: _prefix(name.ljust(width), colours.get(name)) for name in names}

    def say(self, name: str, line: str) -> None:
        """Write one line of a process."""
        self._write(f"{self._prefixes[name]}{line}")


def _text(line: bytes) -> str:
    return line.rstrip(b"\r").decode(errors="replace")


def _prefix(name: str, colour: str | None) -> str:
    return f"\033[{colour}m{name} |\033[0m " if colour else f"{name} | "
