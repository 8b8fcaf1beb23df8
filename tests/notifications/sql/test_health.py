"""The oldest open transaction: seen where the server lets us, and never in the way where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from notifications.sql.health import oldest_transaction


@pytest.fixture
def role() -> Iterator[Callable[..., None]]:
    """Become a role that may not see other sessions, after some statements of the one that may."""

    def become(*statements: str) -> None:
        execute("CREATE ROLE stranger", *statements, "SET ROLE stranger")

    yield become
    execute("RESET ROLE", "GRANT SELECT ON pg_stat_activity TO PUBLIC", "DROP ROLE stranger")


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def begin(cursor: Any) -> int:
    """Open a transaction and leave it so. Returns the process id of its session."""
    cursor.execute("BEGIN")
    cursor.execute("SELECT pg_backend_pid()")
    return int(cursor.fetchone()[0])


class TestOldestTransaction:
    def test_is_found_with_its_age_and_process(self, second_connection):
        process_id = begin(second_connection)

        found = oldest_transaction(over_seconds=0.0)

        assert found
        assert found.process_id == process_id
        assert 0 < found.seconds < 30

    def test_is_none_while_all_are_young(self, second_connection):
        begin(second_connection)

        assert oldest_transaction(over_seconds=300.0) is None

    def test_is_never_our_own(self, second_connection):
        second_connection.execute("SELECT 1")

        assert oldest_transaction(over_seconds=0.0) is None

    def test_is_never_one_in_another_database(self, seeded):
        other = connection.copy()
        other.settings_dict = {**other.settings_dict, "NAME": "postgres"}
        try:
            with other.cursor() as cursor:
                begin(cursor)

                assert oldest_transaction(over_seconds=0.0) is None
        finally:
            other.close()

    def test_is_none_for_a_role_that_may_not_see_other_sessions(self, second_connection, role):
        begin(second_connection)
        role()

        assert oldest_transaction(over_seconds=0.0) is None

    def test_is_none_where_the_view_is_closed_and_a_transaction_around_it_goes_on(self, second_connection, role):
        begin(second_connection)
        role("REVOKE SELECT ON pg_stat_activity FROM PUBLIC")

        with transaction.atomic():
            assert oldest_transaction(over_seconds=0.0) is None
            execute("SELECT 1")
