"""Courier: what its SDK knows, sends and reads, beside ours. It has no check of the signature of webhooks."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import courier as sdk
import httpx
import pytest
from courier.types.message_list_response import MessageListResponse
from courier.types.message_retrieve_response import MessageRetrieveResponse
from courier.types.send_message_params import Message
from courier.types.shared_params.user_recipient import UserRecipient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from providers.messages import AttemptRef, Found, HttpRequest, SentMessage
from tests.oracles.sdk import call, mails, seldom, values
from tests.providers.samples.base import ATTEMPT, NOW, answer, payload
from tests.providers.samples.courier import API_KEY, SAMPLE, courier

HEADERS = ("Authorization", "Accept", "Content-Type", "Idempotency-Key")
RECORDS = ["message-get-response.json", "message-get-undeliverable.json"]

SENDING: TypeAdapter[Any] = TypeAdapter(Message)
RECIPIENT: TypeAdapter[Any] = TypeAdapter(UserRecipient)
RECORD: TypeAdapter[Any] = TypeAdapter(MessageRetrieveResponse)
LIST: TypeAdapter[Any] = TypeAdapter(MessageListResponse)

ids = values.filter(lambda text: text not in ("", ".", ".."))


class Client:
    """Their client, whose calls are kept and never leave the machine."""

    def __init__(self) -> None:
        self.made: list[httpx.Request] = []
        wire = httpx.Client(transport=httpx.MockTransport(self._taken))
        self.client = sdk.Courier(api_key=API_KEY, http_client=wire, max_retries=0)

    def _taken(self, request: httpx.Request) -> httpx.Response:
        self.made.append(request)
        return httpx.Response(200, json={"requestId": "1", "paging": {"more": False}, "results": []})


def carried(message: Any) -> Any:
    """A mail without what cannot be carried."""
    files = tuple(replace(file, content_id=None) for file in message.mail.attachments)
    return replace(message, mail=replace(message.mail, attachments=files, unsubscribe_url=None))


def known(fields: dict[str, Any]) -> dict[str, Any]:
    """These fields as their types have them, without any that they do not know."""
    recipient = RECIPIENT.validate_python(
        fields["to"], strict=True
    )  # alone: one of several Pydantic does not look into
    return {**SENDING.validate_python(fields, strict=True), "to": recipient}


def asked(request: HttpRequest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(request.body)["message"]
    return found


class TestSend:
    @seldom
    @given(mails().map(carried), st.none() | st.just("key-7"))
    def test_asks_for_what_their_client_would(self, message, key):
        request = courier().send_request(message, AttemptRef(ATTEMPT.id, key=key))
        client = Client()

        client.client.send.message(message=asked(request), idempotency_key=key or ATTEMPT.id)

        assert call(request, *HEADERS) == call(client.made[0], *HEADERS)

    @seldom
    @given(mails().map(carried))
    def test_has_no_field_that_theirs_does_not_know(self, message):
        fields = asked(courier().send_request(message, ATTEMPT))

        assert known(fields) == fields

    @pytest.mark.parametrize(
        "change", [{"metadata": {"trace": "x"}}, {"timeouts": {}}, {"to": {"mail": "a@b.example"}}]
    )
    def test_what_theirs_does_not_know_would_be_seen(self, change):
        fields = asked(courier().send_request(SAMPLE.message, ATTEMPT)) | change

        assert known(fields) != fields


class TestLookUp:
    @seldom
    @given(st.none() | ids)
    def test_searches_as_their_client_would(self, page):
        client = Client()
        client.client.messages.list(tags=ATTEMPT.message, **({} if page is None else {"cursor": page}))

        ours = courier().find_request(SentMessage(SAMPLE.message, ATTEMPT, NOW, 10), page)

        assert query(ours.url) == query(str(client.made[0].url))
        assert call(replace(ours, url=""), "Authorization") == replace(call(client.made[0], "Authorization"), url="")

    @seldom
    @given(ids)
    def test_asks_for_one_as_their_client_would(self, message_id):
        client = Client()
        client.client.messages.retrieve(message_id)

        ours = courier().status_request(message_id)

        assert unquote(ours.url) == unquote(str(client.made[0].url))

    def test_reads_a_list_as_theirs_does(self):
        body = payload("courier/messages-list-response.json")
        theirs = LIST.validate_json(body)

        found = courier().find_result(answer(200, body), SentMessage(SAMPLE.message, ATTEMPT, NOW, 10))

        assert isinstance(found, Found)
        assert found.provider_message_id == theirs.results[0].id
        assert found.events[0].provider_status == theirs.results[0].status

    @pytest.mark.parametrize("name", RECORDS)
    def test_reads_a_message_as_theirs_does(self, name):
        body = payload(f"courier/{name}")
        theirs = RECORD.validate_json(body)

        [event] = courier().status_result(answer(200, body))

        assert (event.provider_message_id, event.provider_status) == (theirs.id, theirs.status)
        moment = getattr(theirs, theirs.status.lower(), None)
        assert event.occurred_at == (moment and datetime.fromtimestamp(moment / 1000, UTC))


def query(url: str) -> tuple[str, dict[str, str]]:
    parsed = httpx.URL(url)
    return str(parsed.copy_with(query=None)), dict(parsed.params)
