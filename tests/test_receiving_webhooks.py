"""What the page for receivers tells people to paste, pasted, and held against what we send."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from notifications.numbers import numbers
from notifications.services.events import KINDS, TYPES
from notifications.states import End
from providers.transport.foreign import FOREIGN_ANSWER_BYTES, ForeignRules
from providers.webhook.adapter import SCHEDULE_SECONDS, Webhook
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.webhook import SAMPLE, SECRET, webhook
from tests.providers.test_webhook import OTHER_SECRET

PAGE = (Path(__file__).parent.parent / "docs" / "receiving-webhooks.md").read_text()
TEXT = '{"type":"notification.delivered","data":{"name":"Zoë ✅"}}'


@pytest.fixture
def event_of() -> Callable[..., Any]:
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "receiving-webhooks.md", "exec"), names)
    return names["event_of"]


def call(now: datetime | None = None, **changes: Any) -> tuple[dict[str, str], bytes]:
    """Headers and body as they arrive."""
    adapter, now = webhook(**changes), now or datetime.now(UTC)
    message = type(SAMPLE.message)(SAMPLE.message.channel, "orders", TEXT)
    request = adapter.authorize(adapter.send_request(message, ATTEMPT), now)
    return dict(request.headers), request.body


class TestTheCode:
    def test_reads_what_we_send(self, event_of):
        assert event_of(SECRET, *call()) == {"type": "notification.delivered", "data": {"name": "Zoë ✅"}}

    @pytest.mark.parametrize("secret", [SECRET, OTHER_SECRET])
    def test_reads_it_by_either_secret_of_a_rotation(self, event_of, secret):
        until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        headers, body = call(credentials={"previous_secret": OTHER_SECRET}, previous_secret_until=until)

        assert event_of(secret, headers, body)

    @pytest.mark.parametrize("minutes", [-6, 6])
    def test_refuses_what_is_played_again(self, event_of, minutes):
        with pytest.raises(ValueError, match="not of this moment"):
            event_of(SECRET, *call(datetime.now(UTC) + timedelta(minutes=minutes)))

    @pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
    @pytest.mark.parametrize("value", ["", "x", "v1,", "é", "1"])
    def test_refuses_what_was_changed_on_the_way(self, event_of, name, value):
        headers, body = call()

        with pytest.raises(ValueError, match="not"):
            event_of(SECRET, headers | {name: value}, body)
        with pytest.raises(ValueError, match="not signed by us"):
            event_of(SECRET, headers, body + b" ")
        with pytest.raises(ValueError, match="not signed by us"):
            event_of(OTHER_SECRET, headers, body)

    def test_is_short(self):
        [code] = re.findall(r"^def event_of.*?^```$", PAGE, re.MULTILINE | re.DOTALL)

        assert len(code.splitlines()) <= 20


class TestThePage:
    def test_names_every_type_there_is(self):
        for kind in TYPES:
            assert f"`{kind}`" in PAGE or f"`.{kind.partition('.')[2]}`" in PAGE
        assert {kind.partition(".")[2] for kind in TYPES if kind.startswith("notification.")} == {
            end.value for end in End
        }
        assert all(f'["{kind}"]' in PAGE for kind in KINDS)

    def test_has_the_numbers_in_force(self):
        assert "5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and three times 24 h" in PAGE
        assert SCHEDULE_SECONDS == (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400, 86_400, 86_400)
        assert timedelta(days=5) < timedelta(seconds=1.1 * sum(SCHEDULE_SECONDS)) < timedelta(days=6)
        assert (Webhook.calls_at_once, FOREIGN_ANSWER_BYTES) == (4, 64 * 1024)
        assert ForeignRules().ports == {443, 8443}
        assert numbers().event_expiry_seconds == 30 * 24 * 3600
        assert (numbers().endpoint_warn_seconds, numbers().endpoint_fail_seconds) == (24 * 3600, 5 * 24 * 3600)
        assert numbers().endpoint_secret_overlap_seconds == 24 * 3600
        assert numbers().send_deadline_seconds == 10
