"""Django's own checks say what the doctor says, wherever Django runs them."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from celery.signals import beat_init
from django.core.checks import Tags, run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from notifications import checks, tasks
from tests import factories


def ours(**options: Any) -> list[str]:
    """The ids of what our checks say, sorted."""
    messages = run_checks(include_deployment_checks=False, **options)
    return sorted(message.id for message in messages if message.id.startswith("landfall."))


class TestSettings:
    def test_that_are_well_say_nothing(self):
        assert ours() == []

    def test_that_make_no_sense_stop_a_command(self, numbers_are):
        numbers_are(lease_seconds=5)

        with pytest.raises(SystemCheckError, match=r"landfall\.E011.*LEASE_SECONDS is 5(.|\n)*HINT: Set LEASE_SECONDS"):
            call_command("check")

    def test_that_are_doubtful_do_not(self, settings):
        settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "http://notify.example.org", ["*"]
        errors = StringIO()

        call_command("check", stderr=errors)

        assert "landfall.W021" in errors.getvalue()

    def test_ask_no_database(self, outage):
        outage.begin()
        connection.close()

        assert ours() == []


class TestDatabase:
    def test_is_looked_at_when_asked(self, seeded):
        factories.account("old", "pigeon")

        assert "landfall.E060" in ours(databases=["default"])
        assert ours() == []

    def test_that_is_away_is_an_error(self, outage):
        outage.begin()
        connection.close()

        assert ours(databases=["default"]) == ["landfall.E030"]

    def test_without_our_tables_says_nothing_of_rows(self, seeded, db):
        factories.account("old", "pigeon")
        migrations = MigrationRecorder.Migration.objects.filter(app="notifications")
        applied = list(migrations)
        migrations.delete()
        try:
            assert ours(databases=["default"]) == []
        finally:
            for migration in applied:
                migration.save(force_insert=True)

    def test_other_than_ours_is_not_ours_to_judge(self, seeded):
        assert checks.database_fits(databases=["other"]) == []

    def test_notes_are_left_to_the_doctor(self, seeded, settings):
        settings.PUBLIC_URL = "https://notify.example.org"
        factories.account("sms")
        factories.account("mail", "postmark")

        assert [message.id for message in run_checks(tags=[Tags.database], databases=["default"])] == []


class TestStart:
    def test_says_what_is_wrong(self, numbers_are, settings, caplog):
        numbers_are(lease_seconds=5)
        settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "http://notify.example.org", ["*"]

        checks.say_at_start()

        said = [(record.levelname, record.msg["id"]) for record in caplog.records]
        assert sorted(said) == [("ERROR", "landfall.E011"), ("WARNING", "landfall.W021")]

    def test_is_when_beat_starts(self, numbers_are, caplog):
        assert tasks.say_what_is_misconfigured
        numbers_are(lease_seconds=5)

        beat_init.send(sender=None)

        assert [record.msg["id"] for record in caplog.records] == ["landfall.E011"]

    def test_leaves_out_what_was_silenced(self, numbers_are, settings, caplog):
        numbers_are(lease_seconds=5)
        settings.SILENCED_SYSTEM_CHECKS = ["landfall.E011"]

        checks.say_at_start()

        assert caplog.records == []
