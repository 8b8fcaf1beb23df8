"""Numbers that make no sense, alone or together, are found."""

from __future__ import annotations

import pytest

from notifications.numbers import Numbers
from notifications.services.doctor.timing import MAY_BE_ZERO, findings
from tests.notifications.finding import codes, said

LIMITS = {  # setting, value -> what it leads to; drains take 15 + 1 + 10 + 10 s, waves 21
    ("CELERY_TASK_SOFT_TIME_LIMIT", 90): ["E012"],
    ("CELERY_TASK_SOFT_TIME_LIMIT", 36): [],
    ("CELERY_TASK_SOFT_TIME_LIMIT", 35): ["E013"],
    ("CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT", 21): [],
    ("CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT", 20): ["W014"],
    ("CELERY_BROKER_TRANSPORT_OPTIONS", 180): [],
    ("CELERY_BROKER_TRANSPORT_OPTIONS", 179): ["W015"],
}


class TestDefaults:
    def test_are_well(self):
        assert codes(findings()) == []


class TestRanges:
    @pytest.mark.parametrize("name", Numbers.__dataclass_fields__)
    def test_nothing_may_be_negative(self, numbers_are, name):
        numbers_are(**{name: -1})

        found = list(findings())

        assert said(found, "E010").startswith(f"{name.upper()} is -1.")

    @pytest.mark.parametrize(
        "name", ["tries", "batch_size", "wave_size", "send_concurrency", "flush_count", "check_pace"]
    )
    def test_what_is_counted_by_must_not_be_zero(self, numbers_are, name):
        numbers_are(**{name: 0})

        assert said(findings(), "E010").startswith(f"{name.upper()} is 0. It must be more than 0")

    @pytest.mark.parametrize("name", sorted(MAY_BE_ZERO))
    def test_some_waits_may_be_zero(self, numbers_are, name):
        numbers_are(**{name: 0})

        assert codes(findings()) == []


class TestLease:
    def test_is_long_enough_for_a_late_start_a_call_and_the_margin(self, numbers_are):
        numbers_are(lease_seconds=21)

        assert codes(findings()) == []

    @pytest.mark.parametrize("deadline", ["send_deadline_seconds", "critical_send_deadline_seconds"])
    def test_too_short_for_either_deadline_is_an_error(self, numbers_are, deadline):
        numbers_are(**{"lease_seconds": 60, "drain_seconds": 1, deadline: 50})

        assert "(61 s): nothing is sent." in said(findings(), "E011")


class TestRetries:
    @pytest.mark.parametrize("priority", ["critical", "high", "normal", "bulk"])
    def test_beyond_the_useful_time_are_a_warning(self, numbers_are, priority):
        numbers_are(**{f"{priority}_retry_seconds": 300, f"{priority}_expiry_seconds": 299})

        assert said(findings(), "W016").startswith(f"{priority.upper()}_RETRY_SECONDS is 300")

    def test_within_the_useful_time_are_well(self, numbers_are):
        numbers_are(high_retry_seconds=300, high_expiry_seconds=300)

        assert codes(findings()) == []


class TestRetention:
    @pytest.mark.parametrize(("redact", "delete", "expected"), [(30, 31, []), (30, 30, ["W017"]), (90, 30, ["W017"])])
    def test_redacts_before_it_deletes(self, numbers_are, redact, delete, expected):
        numbers_are(redact_after_days=redact, delete_after_days=delete)

        assert codes(findings()) == expected


class TestCleaning:
    @pytest.mark.parametrize(("share", "expected"), [(1.0, []), (1.5, ["E018"])])
    def test_takes_no_more_than_one_core(self, numbers_are, share, expected):
        numbers_are(clean_share=share)

        assert codes(findings()) == expected

    @pytest.mark.parametrize(("seconds", "expected"), [(50, []), (51, ["W019"])])
    def test_ends_within_the_time_limit(self, numbers_are, seconds, expected):
        numbers_are(clean_seconds=seconds)

        assert codes(findings()) == expected


class TestLimits:
    @pytest.mark.parametrize(("limit", "expected"), LIMITS.items(), ids=lambda value: str(value))
    def test_fit_around_a_drain(self, settings, limit, expected):
        name, value = limit
        options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, "visibility_timeout": value}
        setattr(settings, name, options if name == "CELERY_BROKER_TRANSPORT_OPTIONS" else value)

        assert codes(findings()) == expected

    def test_a_longer_drain_needs_more(self, numbers_are):
        numbers_are(drain_seconds=60)

        assert "a drain may take 81 s" in said(findings(), "E013")


def test_limits_that_are_not_set_are_no_limits(settings):
    del settings.CELERY_TASK_SOFT_TIME_LIMIT
    del settings.CELERY_TASK_TIME_LIMIT

    assert not list(findings())
