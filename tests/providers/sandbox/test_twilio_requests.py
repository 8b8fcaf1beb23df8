"""What Twilio takes, refuses and shows; shapes against its OpenAPI file."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import jsonschema
import pytest
import requests

from providers.sandbox import Sandbox
from tests.providers.sandbox.clients import PAYLOADS, SENDER, TWILIO, TwilioClient, eventually, number, payload
from tests.providers.sandbox.product import Product

SPEC = json.loads((PAYLOADS.parent / "specs" / "twilio.json").read_text())
LIST_PATH = "/2010-04-01/Accounts/{AccountSid}/Messages.json"


def assert_fits(answer: Any, path: str, method: str, status: str) -> None:
    schema = SPEC["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"]
    jsonschema.validate(answer, _closed(schema) | {"components": _closed(SPEC["components"])})


def _closed(schema: Any) -> Any:
    """OpenAPI 3.0 as JSON Schema: nullable as a type, and no property that is not in the file."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) for name, part in schema.items()}
    if closed.get("nullable") is True:
        closed["type"] = [closed["type"], "null"]
    if isinstance(schema.get("properties"), dict):
        closed["additionalProperties"] = False
        closed["required"] = list(schema["properties"])
    return closed


class TestSend:
    def test_is_answered_as_in_the_openapi_file(self, twilio: TwilioClient) -> None:
        answer = twilio.send("+14155550100")

        assert answer.status_code == 201
        assert_fits(answer.json(), LIST_PATH, "post", "201")

    def test_is_answered_as_in_the_example(self, twilio: TwilioClient) -> None:
        example = payload("twilio/send_response_201.json")

        answer = twilio.send("+14155550100").json()

        for name in ("sid", "date_created", "date_updated", "uri", "subresource_uris"):
            assert type(answer.pop(name)) is type(example.pop(name))
        assert answer == example

    def test_says_when_in_whole_seconds_of_rfc_2822(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        created = twilio.send(number("01")).json()["date_created"]

        [(_, message)] = sandbox.messages()
        assert parsedate_to_datetime(created).timestamp() == int(message.taken_at)
        assert created.endswith(" +0000")

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"To": ""}, 21604),
            ({"To": "4915100000001"}, 21211),
            ({"To": "+4912"}, 21211),
            ({"To": "+491510000000000001"}, 21211),
            ({"To": "+15005550009"}, 21614),
            ({"From": ""}, 21603),
            ({"From": "no number!"}, 21212),
            ({"From": "", "MessagingServiceSid": "MG1"}, 21701),
            ({"Body": ""}, 21602),
            ({"Body": "x" * 1601}, 21617),
            ({"StatusCallback": "http://no_underscores.example/"}, 21609),
            ({"StatusCallback": "ftp://example.org/"}, 21609),
            ({"ValidityPeriod": "0"}, 20001),
            ({"ValidityPeriod": "36001"}, 20001),
        ],
    )
    def test_is_refused(self, twilio: TwilioClient, sandbox: Sandbox, change: dict[str, str], code: int) -> None:
        answer = twilio.send(**{"to": number("01")} | change)

        assert (answer.status_code, answer.json()["code"]) == (400, code)
        assert set(answer.json()) == set(payload("twilio/error_400_21211_invalid_to.json"))
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize("sender", ["+15005550006", "12345", "Landfall"])
    def test_takes_every_kind_of_sender(self, twilio: TwilioClient, sender: str) -> None:
        assert twilio.send(number("01"), From=sender).status_code == 201

    @pytest.mark.parametrize(
        ("text", "segments"),
        [("a" * 160, "1"), ("a" * 161, "2"), ("€" * 80, "1"), ("€" * 81, "2"), ("ж" * 70, "1"), ("😭" * 36, "2")],
    )
    def test_counts_segments(self, twilio: TwilioClient, text: str, segments: str) -> None:
        assert twilio.send(number("01"), text).json()["num_segments"] == segments

    def test_is_authorized_by_an_api_key_too(self, twilio: TwilioClient) -> None:
        twilio.http.auth = (TWILIO.credentials["api_key_sid"], TWILIO.credentials["api_key_secret"])

        assert twilio.send(number("01")).status_code == 201

    @pytest.mark.parametrize("auth", [None, ("AC00000000000000000000000000000001", "wrong"), ("somebody", "else")])
    def test_with_wrong_credentials_is_not_authorized(self, twilio: TwilioClient, auth: tuple[str, str] | None) -> None:
        twilio.http.auth = auth

        answer = twilio.send(number("01"))

        assert answer.status_code == 401
        assert answer.json() == payload("twilio/error_401_20003_auth.json")

    def test_to_an_account_that_is_none_is_not_authorized(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        twilio.list_url = twilio.list_url.replace("0001/", "0009/")

        assert twilio.send(number("01")).status_code == 401
        assert sandbox.counts().unknown_requests == 1


class TestList:
    def test_is_answered_as_in_the_openapi_file(self, twilio: TwilioClient) -> None:
        twilio.send(number("01"))

        answer = twilio.list(To=number("01"), PageSize=50)

        assert answer.status_code == 200
        assert_fits(answer.json(), LIST_PATH, "get", "200")
        assert set(answer.json()) == set(payload("twilio/list_200_reconcile.json"))

    def test_shows_one_recipient_newest_first(self, twilio: TwilioClient) -> None:
        for text in ("one", "two"):
            twilio.send(number("02"), text)
        twilio.send(number("02", 1), "somebody else")

        shown = twilio.list(To=number("02")).json()["messages"]

        assert [message["body"] for message in shown] == ["two", "one"]

    def test_shows_one_sender(self, twilio: TwilioClient) -> None:
        twilio.send(number("02"), From="Landfall")
        twilio.send(number("02"), "the other")

        shown = twilio.list(To=number("02"), From=SENDER).json()["messages"]

        assert [message["body"] for message in shown] == ["the other"]

    def test_by_date_shows_only_what_was_sent(self, twilio: TwilioClient, product: Product) -> None:
        day = twilio.send(number("02")).json()["date_created"]
        twilio.send(number("01"))
        product.wait_for(2)
        today = parsedate_to_datetime(day).date().isoformat()

        assert len(twilio.list(**{"DateSent>": today}).json()["messages"]) == 1
        assert twilio.list(DateSent="2001-01-01").json()["messages"] == []

    def test_by_time_shows_only_what_was_sent_then(self, twilio: TwilioClient, product: Product) -> None:
        sid = twilio.send(number("01")).json()["sid"]
        product.wait_for(2)
        sent_at = parsedate_to_datetime(twilio.fetch(sid)["date_sent"])
        shown = {
            (since, until): len(
                twilio.list(
                    **{"DateSent>": _in_seconds(sent_at, since), "DateSent<": _in_seconds(sent_at, until)}
                ).json()["messages"]
            )
            for since, until in ((0, 0), (-2, -1), (1, 2))
        }

        assert shown == {(0, 0): 1, (-2, -1): 0, (1, 2): 0}

    def test_is_read_page_by_page(self, twilio: TwilioClient) -> None:
        for index in range(5):
            twilio.send(number("02"), f"text {index}")

        texts, sizes, page = [], [], twilio.list(To=number("02"), PageSize=2).json()
        while True:
            texts += [message["body"] for message in page["messages"]]
            sizes.append((page["page"], page["start"], page["end"]))
            if page["next_page_uri"] is None:
                break
            assert page["next_page_uri"].startswith("/2010-04-01/Accounts/AC")
            twilio.send(number("02"), "a message in between moves no page")
            page = twilio.http.get(twilio.base_url + page["next_page_uri"], timeout=10).json()

        assert texts == ["text 4", "text 3", "text 2", "text 1", "text 0"]
        assert sizes == [(0, 0, 1), (1, 2, 3), (2, 4, 4)]

    def test_lags(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", look_up_lag_seconds=3600)
        sid = twilio.send(number("02")).json()["sid"]

        assert twilio.list(To=number("02")).json()["messages"] == []
        assert twilio.fetch(sid)["sid"] == sid
        sandbox.set_faults("sms-a", look_up_lag_seconds=0.05)
        eventually(lambda: twilio.list(To=number("02")).json()["messages"], lambda shown: len(shown) == 1)

    def test_of_another_account_is_empty(self, twilio: TwilioClient, other_twilio: TwilioClient) -> None:
        twilio.send(number("02"))

        assert other_twilio.list().json()["messages"] == []


class TestFetch:
    def test_fits_the_openapi_file(self, twilio: TwilioClient, product: Product) -> None:
        sid = twilio.send("+14155550100").json()["sid"]
        product.wait_for(2)

        message = twilio.fetch(sid)

        assert_fits(message, "/2010-04-01/Accounts/{AccountSid}/Messages/{Sid}.json", "get", "200")
        example = payload("twilio/fetch_200_delivered.json")
        for name in ("status", "price", "error_code", "num_segments", "from", "to", "body"):
            assert message[name] == example[name]
        assert parsedate_to_datetime(message["date_sent"]) >= parsedate_to_datetime(message["date_created"])

    def test_of_a_message_that_is_none_is_not_found(self, twilio: TwilioClient) -> None:
        answer = twilio.fetch("SM" + "0" * 32)

        assert (answer["status"], answer["code"]) == (404, 20404)

    @pytest.mark.parametrize("path", ["/2010-04-01/Accounts.json", "/2010-04-01/Accounts/AC1/Messages.json", "/"])
    def test_of_another_resource_is_not_found(self, twilio: TwilioClient, path: str) -> None:
        assert twilio.http.get(twilio.base_url + path, timeout=10).status_code == 404

    def test_needs_the_right_method(self, twilio: TwilioClient) -> None:
        answer: requests.Response = twilio.http.put(twilio.list_url, timeout=10)

        assert (answer.status_code, answer.json()["code"]) == (405, 20004)


def _in_seconds(moment: datetime, seconds: int) -> str:
    return (moment + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
