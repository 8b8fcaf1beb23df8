"""Clients: a steady load of mixed notifications over HTTP, and a book of what they were told."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field
from random import Random

import requests

from tests.faults.house import FALLBACK

CLIENTS = 6
PATIENCE_SECONDS = 90.0  # how long a client sends a request again that was not answered
PAUSE_SECONDS = 0.3

# How many of a hundred have which role in the sandbox (docs/sandbox.md).
NUMBERS = {"01": 58, "02": 4, "03": 6, "04": 2, "05": 6, "06": 7, "07": 2, "08": 1, "09": 8, "10": 6}
MAILBOXES = {"delivered": 80, "slow": 6, "timeout": 8, "bounce": 3, "softbounce": 1, "silent": 2}
PRIORITIES = {"critical": 10, "high": 20, "normal": 55, "bulk": 15}


@dataclass
class Told:
    """The clients' book: which notifications were accepted (202), and how long the slowest answer took."""

    accepted: dict[str, float] = field(default_factory=dict)  # id: when, monotonic
    asked: int = 0
    given_up: int = 0  # never answered within their patience
    replayed: int = 0
    slowest_seconds: float = 0.0  # of one answer
    statuses: dict[int, int] = field(default_factory=dict)


class Load:
    """Sends `per_second` notifications labelled `label` until it is stopped. Use as a context."""

    def __init__(
        self, url: str, api_key: str, *, label: str, random: Random, per_second: float, first_number: int
    ) -> None:
        self.label = label
        self.told = Told()
        self._url = f"{url}/api/v1/notifications"
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._random = random
        self._per_second = per_second
        self._next = first_number
        self._waiting: queue.Queue[tuple[str, dict[str, object]] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._clients = [threading.Thread(target=self._client, daemon=True) for _ in range(CLIENTS)]
        self._feeder = threading.Thread(target=self._feed, daemon=True)

    def __enter__(self) -> Load:
        for thread in [self._feeder, *self._clients]:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ask for nothing new, and wait until all that was asked has been answered."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._feeder.join()
        for _ in self._clients:
            self._waiting.put(None)
        for thread in self._clients:
            thread.join()

    def send(self, count: int = 1, **fields: object) -> None:
        """Ask for more, with some fields given."""
        for _ in range(count):
            key, body = self._notification()
            self._waiting.put((key, {**body, **fields}))

    def _feed(self) -> None:
        while not self._stopping.wait(1 / self._per_second):
            self.send()

    def _notification(self) -> tuple[str, dict[str, object]]:
        with self._lock:
            number, self._next = self._next, self._next + 1
            dice = self._random
            phone = f"+49151{number:06}{_draw(dice, NUMBERS)}"
            mailbox = f"{_draw(dice, MAILBOXES)}+{number}@example.org"
            route = dice.choice(["sms", "email", FALLBACK, FALLBACK])
            priority = _draw(dice, PRIORITIES)
        text = f"{self.label} {number}"
        to = {
            name: address
            for name, address in (("sms", phone), ("email", mailbox))
            if name in route or route == FALLBACK
        }
        content = {"sms": {"text": text}, "email": {"subject": text, "text": text}}
        return f"{self.label}-{number}", {
            "to": to,
            "content": {channel: content[channel] for channel in to},
            "route": route,
            "priority": priority,
            "reference": self.label,
        }

    def _client(self) -> None:
        with requests.Session() as session:
            while (task := self._waiting.get()) is not None:
                self._insist(session, *task)

    def _insist(self, session: requests.Session, key: str, body: dict[str, object]) -> None:
        """Send until there is an answer: a client keeps its key while it does not know."""
        ends_at = time.monotonic() + PATIENCE_SECONDS
        with self._lock:
            self.told.asked += 1
        while time.monotonic() < ends_at:
            began_at = time.monotonic()
            try:
                answer = session.post(
                    self._url, json=body, headers={**self._headers, "Idempotency-Key": key}, timeout=10
                )
            except requests.RequestException:
                time.sleep(PAUSE_SECONDS)
                continue
            if self._note(answer, time.monotonic() - began_at):
                return
            time.sleep(PAUSE_SECONDS)
        with self._lock:
            self.told.given_up += 1

    def _note(self, answer: requests.Response, seconds: float) -> bool:
        with self._lock:
            told = self.told
            told.statuses[answer.status_code] = told.statuses.get(answer.status_code, 0) + 1
            if answer.status_code == 202:
                told.accepted[answer.json()["id"]] = time.monotonic()
                told.replayed += answer.headers.get("Idempotent-Replayed") == "true"
                told.slowest_seconds = max(told.slowest_seconds, seconds)
                return True
            return answer.status_code == 422


def _draw(dice: Random, shares: dict[str, int]) -> str:
    return dice.choices(list(shares), weights=list(shares.values()))[0]
