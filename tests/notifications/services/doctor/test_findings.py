from __future__ import annotations

import pytest

from notifications.services.doctor.findings import Finding, Severity, exit_code, listed


class TestFinding:
    @pytest.mark.parametrize(
        ("code", "severity"),
        [("", Severity.OK), ("N042", Severity.NOTE), ("W021", Severity.WARNING), ("E001", Severity.ERROR)],
    )
    def test_is_as_severe_as_its_code_says(self, code, severity):
        assert Finding(code, "A fact.").severity is severity

    def test_is_one_line_that_begins_with_its_severity(self):
        assert str(Finding("W021", "It is so.", "Do this.")) == "warning  It is so. Do this."
        assert str(Finding("", "All is well.")) == "ok       All is well."


class TestExitCode:
    @pytest.mark.parametrize(
        ("codes", "expected"), [([], 0), (["", "N042"], 0), (["N042", "W021"], 1), (["E001", "W021", ""], 2)]
    )
    def test_follows_the_worst_finding(self, codes, expected):
        assert exit_code(Finding(code, "A fact.") for code in codes) == expected


class TestListed:
    def test_reads_like_a_sentence(self):
        assert [listed(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
