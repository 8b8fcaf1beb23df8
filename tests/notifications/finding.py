"""How to look at what the doctor found."""

from __future__ import annotations

from collections.abc import Iterable

from notifications.services.doctor.findings import Finding


def codes(findings: Iterable[Finding]) -> list[str]:
    """The codes of all that is not well, sorted."""
    return sorted(finding.code for finding in findings if finding.code)


def said(findings: Iterable[Finding], code: str) -> str:
    """What the one finding of a code says, fact and remedy."""
    (found,) = [finding for finding in findings if finding.code == code]
    assert found.remedy, "a finding that does not say what to do"
    return f"{found.fact} {found.remedy}"
