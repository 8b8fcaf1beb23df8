"""Who carries a lane's calls."""

from __future__ import annotations

import pytest

from notifications.lanes import Lane
from notifications.tasks import transport_of


class TestTransportOf:
    @pytest.mark.parametrize("lane", Lane)
    def test_is_curl_for_volume_alone_unless_somebody_chooses(self, settings, lane):
        settings.SEND_TRANSPORT = "auto"

        assert transport_of(lane) == ("auto" if lane is Lane.BULK else "requests")

    @pytest.mark.parametrize("chosen", ["curl", "requests"])
    def test_is_what_was_chosen_in_every_lane(self, settings, chosen):
        settings.SEND_TRANSPORT = chosen

        assert {transport_of(lane) for lane in Lane} == {chosen}
