"""The case http-retry-after-all-forms."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import retry_after
from tests.providers.samples.base import NOW, case

VECTORS = json.loads(case("http-retry-after-all-forms/vectors.json"))


class TestSeconds:
    @pytest.mark.parametrize("vector", VECTORS["values"], ids=lambda vector: vector["header"][:30] or "empty")
    def test_reads_retry_after_in_all_forms(self, vector: dict[str, object]) -> None:
        now = datetime.fromisoformat(VECTORS["clock"])

        assert retry_after.seconds(str(vector["header"]), now) == vector["seconds"]

    def test_nothing_said(self) -> None:
        assert retry_after.seconds(None, NOW) is None

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("0.1", 1.0),  # never 0 for a wait
            ("0.0", 0.0),
            ("2592000", 2592000.0),
            ("2592001", None),
            ("+5", None),
            ("1_000", None),
            ("0x10", None),
            ("٣٠", None),
            ("30\n", None),
            ("Friday, 15-Jan-99 10:02:00 GMT", 0.0),  # 1999, not 2099
            ("Friday, 15-Jan-77 10:02:00 GMT", None),  # 2077: 50 years ahead, and longer than anybody means
            ("Fri Jan  8 10:02:00 2027", 0.0),
            ("Fri, 15 Jan 2027 10:00:60 GMT", 59.0),  # a leap second
            ("Fri, 15 jan 2027 10:02:00 GMT", 120.0),
            ("Fri, 15 Jan 2027 10:02:00 +0000", None),
            ("Fri, 31 Feb 2027 10:02:00 GMT", None),
            ("Fri, 15 Jan 0000 10:02:00 GMT", None),
            ("Fri, 15 Jan 2027 25:02:00 GMT", None),
            ("Fri, 15 Foo 2027 10:02:00 GMT", None),
        ],
    )
    def test_reads_digits_and_dates_strictly(self, value: str, expected: float | None) -> None:
        assert retry_after.seconds(value, NOW) == expected

    @given(value=st.text() | st.from_regex(r"[A-Za-z]{3}, [0-9]{2} [A-Za-z]{3} [0-9]{4} [0-9:]{8} GMT"))
    def test_never_raises_and_never_goes_back_in_time(self, value: str) -> None:
        wait = retry_after.seconds(value, NOW)

        assert wait is None or 0 <= wait <= retry_after.LONGEST_SECONDS

    def test_a_very_long_number_costs_nothing(self) -> None:
        began_at = time.perf_counter()

        assert retry_after.seconds("9" * 1_000_000, NOW) is None
        assert retry_after.seconds("1." + "9" * 1_000_000, NOW) is None
        assert time.perf_counter() - began_at < 0.1


class TestFromHeaders:
    def test_measures_a_date_against_the_date_of_the_answer(self) -> None:
        headers = {"Retry-After": "Fri, 15 Jan 2027 10:02:00 GMT", "Date": "Fri, 15 Jan 2027 10:00:30 GMT"}

        assert retry_after.from_headers(headers) == 90

    @pytest.mark.parametrize("date", [{}, {"Date": "yesterday"}, {"Date": "Friday, 15-Jan-27 10:00:00 GMT"}])
    def test_without_a_date_of_the_answer_a_date_says_nothing(self, date: dict[str, str]) -> None:
        assert retry_after.from_headers({"Retry-After": "Fri, 15 Jan 2027 10:02:00 GMT", **date}) is None

    def test_seconds_need_no_date(self) -> None:
        assert retry_after.from_headers({"Retry-After": "7"}) == 7


def test_two_digits_of_a_year_need_a_century() -> None:
    assert retry_after.http_date("Friday, 15-Jan-27 10:00:00 GMT", None) is None
    assert retry_after.http_date("Friday, 15-Jan-27 10:00:00 GMT", NOW) == datetime(2027, 1, 15, 10, tzinfo=UTC)
