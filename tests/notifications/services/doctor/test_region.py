from __future__ import annotations

import pytest

from notifications.services.doctor.region import findings
from tests.notifications.finding import codes


@pytest.mark.parametrize(
    ("region", "expected"), [(None, []), ("DE", []), ("de", ["E028"]), ("Germany", ["E028"]), ("49", ["E028"])]
)
def test_a_region_is_two_capitals_or_none(settings, region, expected):
    settings.DEFAULT_REGION = region

    assert codes(findings()) == expected
