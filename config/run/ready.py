"""What is not up yet."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import requests
from django.db import InterfaceError, OperationalError

from config.run.places import Place
from notifications.lanes import Lane
from notifications.models import Heartbeat
from notifications.sql.rows import execute

ANSWER_SECONDS = 1.0


class Waiting:
    """Asks the parts that listen, and looks for a sign of life of each lane's worker. What was up is not asked again."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._places = list(places)
        self._lanes = set(Lane.values)
        self._since: datetime = execute("SELECT clock_timestamp()", {})[0][0]

    def missing(self) -> list[str]:
        """The parts and lanes that have shown nothing yet."""
        self._places = [place for place in self._places if not _answers(place.url + place.page)]
        if self._lanes:
            self._lanes -= self._served()
        return [*(place.part for place in self._places), *(lane for lane in Lane.values if lane in self._lanes)]

    def _served(self) -> set[str]:
        signs = Heartbeat.objects.filter(process__in=self._lanes, beat_at__gte=self._since)
        try:
            return set(signs.values_list("process", flat=True))
        except (OperationalError, InterfaceError):
            return set()  # the database is away: later


def _answers(page: str) -> bool:
    try:
        return requests.get(page, timeout=ANSWER_SECONDS).status_code < 500  # Flower's first answer is a 401
    except requests.RequestException:
        return False
