"""Receivers of events, under /hooks: what one answers is in its path, and what arrived can be asked for.

They know nothing of the adapter: they check by the specification (https://www.standardwebhooks.com), as anybody would.
"""

from __future__ import annotations

import base64
import hmac
import threading
import time
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from providers.sandbox.accounts import Pace
from providers.sandbox.wire import Reply, Request, json_reply

PREFIX = "/hooks"
BUSY_SECONDS = 7
TOLERANCE_SECONDS = 300

ROLES: dict[str, Callable[[Pace], Reply]] = {
    "ok": lambda pace: json_reply(200, {}),
    "fail": lambda pace: json_reply(500, {}),
    "refuse": lambda pace: json_reply(404, {}),
    "busy": lambda pace: json_reply(429, {}, headers=(("Retry-After", str(BUSY_SECONDS)),)),
    "gone": lambda pace: json_reply(410, {}),
    "redirect": lambda pace: json_reply(307, {}, headers=(("Location", f"{PREFIX}/ok"),)),
    "slow": lambda pace: json_reply(200, {}, delay_seconds=pace.slow_answer),
    "timeout": lambda pace: Reply(0, withheld_seconds=pace.hang),
}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A call that came. `is_signed` None: nobody has said by which secret it should be."""

    path: str
    id: str
    timestamp: str
    body: str
    headers: Mapping[str, str]
    is_signed: bool | None
    answered: str
    received_at: float


class Receivers:
    """Any number of them: /hooks/ROLE and /hooks/ROLE/anything are one each."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._lock = threading.Lock()
        self._arrivals: list[Arrival] = []
        self._secrets: dict[str, str] = {}  # by path
        self._roles: dict[str, str] = {}  # by path, where another one was set

    def set(self, path: str, *, secret: str | None = None, role: str | None = None) -> None:
        """Say by which secret a receiver checks, or that it plays another role from now on. Raises ValueError."""
        if role is not None and role not in ROLES:
            raise ValueError(f"a receiver plays one of {', '.join(ROLES)}")
        with self._lock:
            if secret is not None:
                self._secrets[path] = secret
            if role is not None:
                self._roles[path] = role

    def arrivals(self, path: str | None = None) -> list[Arrival]:
        """What came, oldest first; to one of them, or to all."""
        with self._lock:
            return [arrival for arrival in self._arrivals if path is None or arrival.path == path]

    def clear(self) -> None:
        """Forget what came, and who plays another role."""
        with self._lock:
            self._arrivals.clear()
            self._roles.clear()

    def handle(self, request: Request) -> Reply:
        """Answer as the path demands, and note what came."""
        with self._lock:
            secret = self._secrets.get(request.path)
            role = self._roles.get(request.path) or request.path.removeprefix(f"{PREFIX}/").partition("/")[0]
        if role not in ROLES:
            return json_reply(404, {"error": f"a receiver is {PREFIX}/ and one of {', '.join(ROLES)}"})
        reply = ROLES[role](self._pace)
        now = time.time()
        arrival = Arrival(
            path=request.path,
            id=request.headers.get("webhook-id", ""),
            timestamp=request.headers.get("webhook-timestamp", ""),
            body=request.body.decode(errors="replace"),
            headers=request.headers,
            is_signed=is_signed(request, secret, now) if secret is not None else None,
            answered=reply.outcome,
            received_at=now,
        )
        with self._lock:
            self._arrivals.append(arrival)
        return reply

    def as_json(self, path: str | None) -> list[dict[str, Any]]:
        """What came, as the console shows it."""
        return [asdict(arrival) for arrival in self.arrivals(path)]


def is_signed(request: Request, secret: str, now: float) -> bool:
    """Whether one of its signatures is by this secret, and it was made a moment ago."""
    id, timestamp = request.headers.get("webhook-id", ""), request.headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = hmac.digest(key, f"{id}.{timestamp}.".encode() + request.body, "sha256")
    return any(_is(expected, signature) for signature in request.headers.get("webhook-signature", "").split(" "))


def _is(expected: bytes, signature: str) -> bool:
    version, _, text = signature.partition(",")
    try:
        return version == "v1" and hmac.compare_digest(expected, base64.b64decode(text, validate=True))
    except (NotBase64, ValueError):
        return False
