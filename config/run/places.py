"""Where the parts that listen are reached, and whether those ports are free."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass

import environs

from config.env import Environment

SANDBOX = "sandbox"
LOOPBACK = "127.0.0.1"
EVERYWHERE = {"0.0.0.0": LOOPBACK, "[::]": "[::1]"}  # noqa: S104  what to call where somebody listens everywhere
LAST_PORT = 65535


@dataclass(frozen=True)
class Place:
    """A part that listens, what it answers when it is up, and the variable that chooses its port."""

    part: str
    variable: str
    port: int
    page: str
    host: str = LOOPBACK

    @property
    def url(self) -> str:
        """Its address for somebody on this machine."""
        return f"http://{EVERYWHERE.get(self.host, self.host)}:{self.port}"


def read_places() -> list[Place]:
    """Web, Flower and the sandbox, as the environment has them. Raises InvalidEnvironment."""
    env = Environment()

    def port(name: str, default: int) -> int:
        return env.int(name, default=default, validate=_is_port) or default

    places = [
        Place("web", "PORT", port("PORT", 8000), "/healthz", env.str("HOST", default="") or LOOPBACK),
        Place("flower", "FLOWER_PORT", port("FLOWER_PORT", 5555), "/healthcheck"),
        Place(SANDBOX, "SANDBOX_PORT", port("SANDBOX_PORT", 8025), "/_sandbox/counts"),
    ]
    env.seal()
    return places


def taken(places: Iterable[Place]) -> list[str]:
    """One line for each place that cannot be had, with a way out."""
    complaints, ports = [], set[int]()
    for place in places:
        if fault := "another part has it" if place.port in ports else _fault(place.host, place.port):
            other = next(n for n in range(place.port + 1, LAST_PORT) if n not in ports and not _fault(LOOPBACK, n))
            way_out = f"choose another one, {place.variable}={other} make run"
            if place.part == SANDBOX:
                way_out += ", or leave it out, make run ARGS=--no-sandbox"
            complaints.append(f"Port {place.port} for {place.part}: {fault}; {way_out}")
        ports.add(place.port)
    return complaints


def _fault(host: str, port: int) -> str:
    """Why nobody can listen here; nothing if somebody can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host.strip("[]"), port), family=family).close()
    except OSError as error:
        return os.strerror(error.errno).lower() if error.errno else str(error)
    return ""


def _is_port(value: int) -> None:
    if not 0 < value <= LAST_PORT:
        raise environs.ValidationError(f"must be from 1 to {LAST_PORT}")
