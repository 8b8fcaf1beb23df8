"""All themes in turn: what can be looked at is, whatever else is broken."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from config.celery import app
from notifications.lanes import Lane
from notifications.services.doctor import routes
from notifications.services.doctor.examination import ROWS, examine
from notifications.services.doctor.findings import Finding, Severity
from notifications.sql.reconcile import beat
from tests import factories
from tests.notifications.finding import codes


@pytest.fixture
def whole(seeded: None, settings: Any) -> None:
    """A house in which everything is as it should be."""
    settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "https://notify.example.org", ["notify.example.org"]
    for migration in (
        "0004_beat_schedules",
        "0009_schedule_redact_and_clean",
        "0017_schedule_judge_arrivals",
        "0020_schedule_watch_endpoints",
    ):
        import_module(f"notifications.migrations.{migration}").seed(apps, None)
    for process in ("beat", "sweeper", *Lane.values):
        beat(process)
    factories.account("sms")
    factories.account("mail", "postmark")


def found() -> list[Finding]:
    app.loader.import_default_modules()
    return list(examine(app.tasks.keys()))


class TestWhole:
    def test_a_house_as_it_should_be_has_nothing_worse_than_notes(self, whole):
        assert max(finding.severity for finding in found()) <= Severity.NOTE

    def test_says_of_every_theme_that_it_is_well(self, whole):
        well = [finding.fact for finding in found() if finding.severity is Severity.OK]

        assert len(well) == 12
        assert len(set(well)) == 12


class TestBroken:
    def test_the_rest_is_looked_at_while_the_broker_is_away(self, whole, settings):
        settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"

        facts = [finding.fact for finding in found()]

        assert "Routes are valid." in facts
        assert any("does not answer at 127.0.0.1:1" in fact for fact in facts)

    def test_rows_are_not_looked_at_while_the_database_is_away(self, whole, outage):
        outage.begin()
        connection.close()

        *_, last = found()

        assert last.code == "E030"

    def test_rows_are_not_looked_at_before_their_tables_are_there(self, db):
        MigrationRecorder.Migration.objects.filter(app="notifications").delete()

        *_, last = found()

        assert last.code == "E032"

    def test_a_database_that_fails_a_check_leaves_the_others(self, whole, monkeypatch):
        def fail() -> Any:
            raise OperationalError("the connection is gone, and k7Qz41mX with it")

        themes = tuple((fail if check is routes.findings else check, sentence) for check, sentence in ROWS)
        monkeypatch.setattr("notifications.services.doctor.examination.ROWS", themes)

        facts = " ".join(str(finding) for finding in found())

        assert "The database failed a check: OperationalError." in facts
        assert "Nothing waits for a person." in facts
        assert "k7Qz41mX" not in facts


def test_codes_are_said_only_of_what_is_not_well(whole):
    assert set(codes(found())) <= {"N035", "N042"}
