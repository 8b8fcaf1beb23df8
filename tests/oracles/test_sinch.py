"""Sinch: what its SDK signs and sends, and how it reads reports, beside ours."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sinch import SinchClient
from sinch.domains.authentication.sinch_events.v1.authentication_validation import (
    calculate_sinch_event_signature,
    compute_signed_data,
)
from sinch.domains.sms.sinch_events.v1 import SmsSinchEvent

from providers.messages import Channel, Headers, OutgoingMessage, WebhookRequest
from tests.oracles.sdk import believes, call, caught, changed, often, seconds, seldom, some_text, texts
from tests.providers.samples.base import ATTEMPT, PAYLOADS
from tests.providers.samples.sinch import SINCH_PLAN, SINCH_SECRET, SINCH_URL, sinch, sinch_webhook

HEADER = "x-sinch-webhook-signature"
NOW = datetime(2027, 1, 15, 10, 0, tzinfo=UTC)
REPORTS = sorted((PAYLOADS / "sinch").glob("callback_*.json"))

in_headers = st.text("abc019-_.", min_size=1, max_size=30)


class TestSignature:
    @often
    @given(texts, in_headers, in_headers, st.data())
    def test_is_believed_where_theirs_believes_it(self, body, nonce, sent_at, data):
        headers = {
            HEADER: calculate_sinch_event_signature(compute_signed_data(body, nonce, sent_at), SINCH_SECRET),
            f"{HEADER}-nonce": nonce,
            f"{HEADER}-timestamp": sent_at,
        }
        name = data.draw(st.sampled_from(["", "body", *headers]))
        if name == "body":
            body = data.draw(changed(body))
        elif name:
            headers[name] = data.draw(changed(headers[name]))

        theirs = SmsSinchEvent(SINCH_SECRET).validate_authentication_header(headers, body.encode())

        assert theirs or name
        assert believes(sinch(), WebhookRequest("POST", SINCH_URL, Headers(headers), body.encode())) == theirs

    @pytest.mark.parametrize("name", [HEADER, f"{HEADER}-nonce", f"{HEADER}-timestamp"])
    def test_that_lacks_a_part_is_believed_by_neither(self, name):
        request = sinch_webhook(b"{}")
        headers = {known: text for known, text in request.headers.items() if known != name}

        assert not SmsSinchEvent(SINCH_SECRET).validate_authentication_header(headers, request.body)
        assert not believes(sinch(), replace(request, headers=headers))


class TestReport:
    @pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
    def test_is_read_as_theirs_reads_it(self, path):
        body = path.read_bytes().strip()
        theirs = SmsSinchEvent(SINCH_SECRET).parse_event(body)

        for event in sinch().parse_webhook(sinch_webhook(body)):
            assert (event.provider_message_id, event.attempt) == (theirs.batch_id, theirs.client_reference)
            assert event.occurred_at == getattr(theirs, "at", None)


class TestSend:
    @seldom
    @given(some_text.filter(lambda text: "${" not in text), seconds)
    def test_asks_for_what_their_client_would(self, text, useful):
        ours = sinch()
        client = SinchClient(
            service_plan_id=SINCH_PLAN, sms_api_token=ours.account.credentials["api_token"], sms_region="us"
        )
        with caught({"id": "01FC66621XXXXX119Z8PMV1QPQ"}, 201) as made:
            client.sms.batches.send_sms(
                to=["14155550100"],
                from_="15005550006",
                body=text,
                delivery_report="per_recipient",
                expire_at=useful and NOW + timedelta(seconds=useful),
                event_destination_target=SINCH_URL,
                client_reference=ATTEMPT.id,
            )

        message = OutgoingMessage(Channel.SMS, "+14155550100", text, useful_seconds=useful)
        mine = call(ours.authorize(ours.send_request(message, ATTEMPT), NOW), "Authorization")
        theirs = call(made[0], "Authorization")
        for asked in (mine, theirs):
            if at := asked.fields.get("expire_at"):
                asked.fields["expire_at"] = datetime.fromisoformat(at)
        assert mine == theirs
