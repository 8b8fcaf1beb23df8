"""DEFAULT_REGION: one that phone numbers can be read in."""

from __future__ import annotations

from collections.abc import Iterator

import phonenumbers
from django.conf import settings

from notifications.services.doctor.findings import Finding


def findings() -> Iterator[Finding]:
    """Whether DEFAULT_REGION is a region, if it is set."""
    region = settings.DEFAULT_REGION
    if region is not None and region not in phonenumbers.SUPPORTED_REGIONS:
        yield Finding(
            "E028",
            f"DEFAULT_REGION {region!r} is no region: phone numbers in national form are refused.",
            "Use two capitals, like DE, or unset it.",
        )
