"""What every test may use: an empty house with its seeds, a sandbox, and a drain without workers."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from notifications import selectors
from notifications.accounts import accounts
from notifications.numbers import numbers


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No test sees what another one's rows were."""
    yield
    for kept in (accounts, selectors.routes, selectors.clients, selectors.endpoints):
        kept.forget()
    numbers.cache_clear()


@pytest.fixture
def seeded(transactional_db: None) -> None:
    """The rows that migrations make, which an emptied test database has lost."""
    from django.apps import apps

    for migration in ("0003_seed_routes_and_internal_client", "0019_seed_push_and_webhook_routes"):
        import_module(f"notifications.migrations.{migration}").seed(apps, None)
    for kept in (accounts, selectors.routes, selectors.clients, selectors.endpoints):
        kept.forget()
