"""A database that is away, or not as the engine needs it, is found: on the real one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.backends.base import base
from django.db.migrations.recorder import MigrationRecorder

from notifications.services.doctor import database
from notifications.services.doctor.database import findings, migrations
from tests.notifications.finding import codes, said


def faults(*clock: Callable[[], float]) -> list[str]:
    """Codes without notes: the launcher's databases need not outlive the machine, and say so."""
    return [code for code in codes(findings(*clock)) if code != "N035"]


@pytest.fixture
def database_has(transactional_db: None) -> Iterator[Callable[[str, str], None]]:
    """Give the database another default for new connections, for one test."""

    def alter(change: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {connection.settings_dict['NAME']} {change}")
        connection.close()

    yield lambda name, value: alter(f"SET {name} TO '{value}'")
    alter("RESET ALL")


class TestAnswering:
    def test_names_version_and_place(self, db):
        first, *_ = findings()

        place = f"{connection.settings_dict['HOST']}:{connection.settings_dict['PORT']}"
        assert str(first).startswith(f"ok       PostgreSQL {connection.pg_version // 10000} answers at {place}/")

    def test_one_as_it_should_be_is_well(self, db):
        assert faults() == []

    def test_one_that_takes_no_connection_is_an_error(self, outage):
        password = connection.settings_dict["PASSWORD"]
        outage.begin()
        connection.close()

        sentence = said(findings(), "E030")

        assert f"at {connection.settings_dict['HOST']}:{connection.settings_dict['PORT']}/" in sentence
        assert "is not currently accepting connections" in sentence
        assert password not in sentence

    def test_one_that_is_too_old_is_an_error(self, db, monkeypatch):
        monkeypatch.setattr(database, "OLDEST_VERSION", 99)

        assert "Upgrade it to 99 or newer." in said(findings(), "E031")

    def test_one_that_is_too_old_for_django_is_the_same_error(self, transactional_db, monkeypatch):
        monkeypatch.setattr(connection.features, "minimum_database_version", (99,))
        monkeypatch.setattr(base, "RAN_DB_VERSION_CHECK", set())
        connection.close()

        assert codes(findings()) == ["E031"]


class TestIsolation:
    def test_other_than_read_committed_is_an_error(self, database_has):
        database_has("default_transaction_isolation", "repeatable read")

        assert "Transactions run at REPEATABLE READ" in said(findings(), "E034")


class TestClocks:
    @pytest.mark.parametrize(
        ("ours", "code", "words"),
        [
            (-2.5, "W033", "2.5 s ahead of"),
            (2.5, "W033", "2.5 s behind"),
            (31, "E033", "31.0 s behind"),
            (-31, "E033", "31.0 s ahead of"),
        ],
    )
    def test_that_differ_are_found(self, db, ours, code, words):
        assert f"The database's clock is {words} this machine's." in said(findings(lambda: time.time() + ours), code)

    def test_that_differ_by_a_second_are_well(self, db):
        assert faults(lambda: time.time() + 1) == []


class TestDurability:
    def test_synchronous_commit_off_is_noted(self, database_has):
        database_has("synchronous_commit", "off")

        found = [str(finding) for finding in findings() if finding.code == "N035"]

        assert found[0].startswith("note     synchronous_commit is off: a crash of the database may lose")


class TestVacuum:
    def test_switched_off_for_a_table_is_a_warning(self, db):
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE outbox SET (autovacuum_enabled = off)")

        assert "ALTER TABLE outbox RESET (autovacuum_enabled);" in said(findings(), "W036")


class TestTransactions:
    def test_one_that_has_been_open_for_long_is_a_warning_that_says_why_and_whose(self, second_connection, numbers_are):
        numbers_are(transaction_alarm_seconds=0.0)
        second_connection.execute("BEGIN")
        second_connection.execute("SELECT pg_backend_pid()")
        ((process_id,),) = second_connection.fetchall()

        sentence = said(findings(), "W037")

        assert "A transaction has been open for 0 s: while its snapshot lasts, vacuum cleans up nothing" in sentence
        assert f"pid = {process_id} in pg_stat_activity" in sentence

    def test_a_short_one_is_well(self, second_connection):
        second_connection.execute("BEGIN")
        second_connection.execute("SELECT 1")

        assert faults() == []


class TestMigrations:
    def test_all_applied_are_well(self, db):
        assert codes(migrations()) == []

    def test_one_that_is_not_applied_is_named(self, db):
        recorder: Any = MigrationRecorder.Migration.objects
        recorder.filter(app="django_celery_beat", name="0019_alter_periodictasks_options").delete()
        recorder.filter(app="notifications").exclude(name="0001_initial").delete()

        sentence = said(migrations(), "E032")

        assert "0019_alter_periodictasks_options" in sentence
        assert "more. Run `manage.py migrate`." in sentence
