"""Reports on their way in: what of a provider's words can be kept."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from notifications.models.delivery_event import Source
from notifications.services.reports import new_events, parse_attempt
from providers.messages import DeliveryEvent, EventKind

MESSAGE = UUID("018f5c3e-1111-7222-8333-444455556666")


class TestParseAttempt:
    @pytest.mark.parametrize("number", [1, 9, 10, 32_767])
    def test_reads_what_we_put_on_the_wire(self, number):
        assert parse_attempt(f"{MESSAGE.hex}-{number}") == (MESSAGE, number)

    @pytest.mark.parametrize(
        "text",
        [
            None,
            "",
            MESSAGE.hex,
            f"{MESSAGE.hex}-",
            f"{MESSAGE.hex}-0",
            f"{MESSAGE.hex}-01",
            f"{MESSAGE.hex}--1",
            f"{MESSAGE.hex}-1.5",
            f"{MESSAGE.hex}-32768",  # no smallint
            f"{MESSAGE.hex}-99999999999",
            f"{MESSAGE.hex}-\u0661",  # a digit to int(), not to us
            f"{MESSAGE.hex}-1\n",
            f" {MESSAGE.hex}-1",
            f"{MESSAGE.hex.upper()}-1",
            f"{MESSAGE}-1",
            f"{MESSAGE.hex[:-1]}-1",
            f"{MESSAGE.hex}0-1",
            "' OR 1=1 --",
        ],
    )
    def test_takes_nothing_else_for_a_name(self, text):
        assert parse_attempt(text) == (None, None)


class TestNewEvents:
    def test_keep_a_report_as_it_came(self):
        event = DeliveryEvent(
            EventKind.DELIVERED,
            dedupe_key="e1",
            attempt=f"{MESSAGE.hex}-2",
            provider_message_id="SM1",
            provider_status="delivered",
            error_code="0",
            occurred_at=datetime(2027, 1, 15, tzinfo=UTC),
            suppress="invalid",
            raw=b"\xff\0 as received",
        )

        (row,) = new_events(7, [event], Source.WEBHOOK)

        assert (row.account_id, row.source, row.kind) == (7, Source.WEBHOOK, EventKind.DELIVERED)
        assert (row.message_id, row.attempt_number) == (MESSAGE, 2)
        assert (row.dedupe_key, row.provider_message_id, row.provider_status) == ("e1", "SM1", "delivered")
        assert (row.error_code, row.suppress, row.occurred_at) == ("0", "invalid", event.occurred_at)
        assert row.raw == event.raw

    def test_keep_a_report_without_a_name_for_later(self):
        (row,) = new_events(7, [DeliveryEvent(EventKind.SENT, dedupe_key="e1")], Source.POLL)

        assert (row.message_id, row.attempt_number, row.provider_message_id, row.suppress) == (None, None, None, "")

    @pytest.mark.parametrize("bad", ["\0", "\ud83d"], ids=["NUL", "half a pair"])
    def test_hold_no_text_that_cannot_be_stored(self, bad):
        event = DeliveryEvent(
            EventKind.UNKNOWN,
            dedupe_key=f"e{bad}1",
            provider_message_id=f"SM{bad}1",
            provider_status=f"odd{bad}",
            error_code=f"3{bad}",
        )

        (row,) = new_events(7, [event], Source.WEBHOOK)

        texts = [row.dedupe_key, row.provider_message_id, row.provider_status, row.error_code]
        assert not [text for text in texts if bad in text]
        "".join(texts).encode()

    def test_cut_texts_at_the_width_of_their_columns(self):
        long = "é" * 1000
        event = DeliveryEvent(EventKind.UNKNOWN, long, None, long, long, long)

        (row,) = new_events(7, [event], Source.WEBHOOK)

        texts = [row.dedupe_key, row.provider_message_id, row.provider_status, row.error_code]
        assert [len(text) for text in texts] == [200, 200, 100, 50]
