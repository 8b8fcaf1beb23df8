"""Postmark: what postmarker, the client most used from Python, sends beside ours. There is none of the vendor's own."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from postmarker.core import PostmarkClient

from providers.messages import Channel, HttpRequest, OutgoingMessage
from tests.oracles.sdk import call, caught, seldom, some_text
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.postmark import postmark

TO = "ana.pereira@example.net"
TAKEN = {"ErrorCode": 0, "Message": "OK", "MessageID": "b7bc2f4a-e38e-4336-af7d-e6c392c2f817", "To": TO}
TOKEN = postmark().account.credentials["server_token"]
HEADERS = ("X-Postmark-Server-Token", "Accept", "Content-Type")


def mail(text: str, html: str | None) -> dict[str, Any]:
    return {
        "From": postmark().account.settings["from"],
        "To": TO,
        "Subject": "Your order",
        "TextBody": text,
        "HtmlBody": html,
        "Headers": {"X-Attempt-Id": ATTEMPT.id},
        "Metadata": {"attempt": ATTEMPT.id, "message": ATTEMPT.message},
        "MessageStream": "outbound",
        "TrackOpens": False,
        "TrackLinks": "None",
    }


def ours(text: str, html: str | None) -> HttpRequest:
    return postmark().send_request(OutgoingMessage(Channel.EMAIL, TO, text, "Your order", html), ATTEMPT)


def said(fields: dict[str, Any]) -> dict[str, Any]:
    """What fields say, without those that say nothing."""
    return {name: value for name, value in fields.items() if value is not None and value != []}


class TestSend:
    @seldom
    @given(some_text, st.none() | some_text)
    def test_asks_for_what_their_client_would(self, text, html):
        with caught(TAKEN) as made:
            PostmarkClient(server_token=TOKEN).emails.send(**mail(text, html))

        theirs = call(made[0], *HEADERS)
        assert call(ours(text, html), *HEADERS) == replace(theirs, fields=said(theirs.fields))

    @seldom
    @given(st.lists(some_text, min_size=1, max_size=5))
    def test_asks_for_a_batch_as_their_client_would(self, texts):
        with caught([TAKEN] * len(texts)) as made:
            PostmarkClient(server_token=TOKEN).emails.send_batch(*[mail(text, None) for text in texts])

        batch = postmark().batch_request([ours(text, None) for text in texts])
        assert (batch.method, batch.url) == (made[0].method, made[0].url)
        assert json.loads(batch.body) == [said(fields) for fields in json.loads(made[0].body)]
