"""One house of real processes for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from tests.houses import House, open_house


@pytest.fixture(scope="module")
def running(django_db_blocker: Any, tmp_path_factory: Any) -> Iterator[House]:
    """One house for the tests of a module."""
    with django_db_blocker.unblock(), open_house(tmp_path_factory.mktemp("logs")) as house:
        yield house


@pytest.fixture
def house(running: House, django_db_blocker: Any) -> Iterator[House]:
    """The house, with nothing in it that another test sent."""
    with django_db_blocker.unblock():
        for name in ("outbox", "attempt", "delivery_event", "dead_letter", "message", "notification"):
            with connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {name}")
        running.sandbox.reset()
        yield running
        connection.close()
