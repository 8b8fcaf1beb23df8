"""How far many messages have come, told by one call: every adapter with a list, in its vendor's words."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jsonschema
import pytest

from providers.messages import Ability, EventKind, StatusPage
from providers.registry import PROVIDERS
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import NOW, answer, payload

SINCE, UNTIL = NOW - timedelta(minutes=5), NOW + timedelta(seconds=30, milliseconds=250)
LISTED = [name for name in sorted(PROVIDERS) if Ability.LIST_STATUSES in PROVIDERS[name].abilities]
SPECS = Path(__file__).parent / "specs"
NEWER = json.loads((SPECS / "sinch-derived.json").read_text())
TWILIO_LIST = "/2010-04-01/Accounts/{AccountSid}/Messages.json"

# What a list of a span of time is asked with. Parts of a second that a vendor does not take round the span up.
QUERIES = {
    "bird": {
        "created_after": "2027-01-15T09:55:00.000Z",
        "created_before": "2027-01-15T10:00:30.250Z",
        "direction": "outbound",
        "limit": "100",
    },
    "mysmsgate": {"direction": "out", "limit": "200"},
    "plivo": {
        "message_direction": "outbound",
        "message_time__gte": "2027-01-15 09:55:00",
        "message_time__lte": "2027-01-15 10:00:31",
        "limit": "20",
        "offset": "0",
    },
    "sinch": {
        "start_date": "2027-01-15T09:55:00.000Z",
        "end_date": "2027-01-15T10:00:30.250Z",
        "page": "0",
        "page_size": "100",
    },
    "twilio": {"DateSent>": "2027-01-15T09:55:00Z", "DateSent<": "2027-01-15T10:00:31Z", "PageSize": "400"},
}


def query(name: str, page: str | None = None) -> dict[str, str]:
    url = SAMPLES[name].provider.statuses_request(SINCE, UNTIL, page).url
    return dict(parse_qsl(urlsplit(url).query, strict_parsing=True))


def read(name: str, body: Any, status: int = 200) -> StatusPage:
    return SAMPLES[name].provider.statuses_result(answer(status, body))


def recorded(name: str) -> Any:
    return json.loads(payload(name))


RECORDED = {
    "bird": {"data": [{**recorded("bird/send_response_202.json"), "status": "delivered"}], "next_cursor": None},
    "mysmsgate": recorded("mysmsgate/history_200.json"),
    "plivo": recorded("plivo/list_200_reconcile.json"),
    "sinch": recorded("sinch/list_delivery_reports_200.json"),
    "twilio": recorded("twilio/list_200_reconcile.json"),
}


@pytest.mark.parametrize("name", LISTED)
class TestEvery:
    def test_asks_for_the_span_alone(self, name: str) -> None:
        assert query(name) == QUERIES[name]

    @pytest.mark.parametrize("body", [b"", b"<html>", {}, {"messages": {}, "objects": 1, "data": None, "history": ""}])
    def test_says_nothing_by_what_is_no_list(self, name: str, body: Any) -> None:
        assert list(read(name, body).events) == []
        assert read(name, body).next_page is None

    @pytest.mark.parametrize("status", [401, 404, 429, 500])
    def test_says_nothing_by_a_refusal(self, name: str, status: int) -> None:
        page = read(name, RECORDED[name], status)

        assert read(name, RECORDED[name]).events
        assert (list(page.events), page.next_page) == ([], None)


class TestTwilio:
    LIST = RECORDED["twilio"]
    [MESSAGE] = LIST["messages"]

    def test_query_is_of_the_published_parameters(self) -> None:
        spec = json.loads((SPECS / "twilio.json").read_text())["paths"][TWILIO_LIST]["get"]["parameters"]
        parameters = {parameter["name"]: parameter["schema"] for parameter in spec}

        for name, value in query("twilio").items():
            typed = int(value) if parameters[name]["type"] == "integer" else value
            jsonschema.validate(typed, parameters[name], format_checker=jsonschema.FormatChecker())

    def test_tells_what_a_single_answer_tells(self) -> None:
        single = SAMPLES["twilio"].provider.status_result(answer(200, self.MESSAGE))

        assert read("twilio", self.LIST).events == single

    def test_goes_back_to_the_first_that_was_sent(self) -> None:
        dates = ["Fri, 15 Jan 2027 10:00:02 +0000", "Fri, 15 Jan 2027 10:00:01 +0000", None]
        page = {"messages": [{**self.MESSAGE, "date_sent": date} for date in dates]}

        assert read("twilio", page).oldest_at == datetime(2027, 1, 15, 10, 0, 1, tzinfo=UTC)

    def test_goes_on_by_the_query_of_its_link(self) -> None:
        link = "/2010-04-01/Accounts/AC1/Messages.json?DateSent%3E=2027-01-15&PageSize=2&Page=1&PageToken=PASM1"

        assert read("twilio", {**self.LIST, "next_page_uri": link}).next_page == link
        asked = {"DateSent>": "2027-01-15", "PageSize": "2", "Page": "1", "PageToken": "PASM1"}
        assert query("twilio", link) == asked


class TestPlivo:
    LIST = RECORDED["plivo"]

    def test_tells_what_a_single_answer_tells(self) -> None:
        page = read("plivo", self.LIST)

        [record] = self.LIST["objects"]
        assert page.events == SAMPLES["plivo"].provider.status_result(answer(200, record))
        assert page.oldest_at == datetime(2026, 1, 15, 10, 0, tzinfo=UTC)

    def test_goes_on_by_the_offset_of_its_link(self) -> None:
        link = "/v1/Account/MA1/Message/?limit=20&offset=40"
        page = read("plivo", {**self.LIST, "meta": {**self.LIST["meta"], "next": link}})

        assert page.next_page == link
        assert query("plivo", link) == {**QUERIES["plivo"], "offset": "40"}


class TestMySmsGate:
    def test_tells_what_a_single_answer_tells(self) -> None:
        """There is one page, and what it does not show is not told of."""
        single = SAMPLES["mysmsgate"].provider.status_result(answer(200, {"id": 12345, "status": "failed"}))

        assert read("mysmsgate", RECORDED["mysmsgate"]) == StatusPage(single)


class TestBird:
    [MESSAGE] = RECORDED["bird"]["data"]

    def test_tells_what_a_single_answer_tells(self) -> None:
        models = json.loads((SPECS / "bird-derived.json").read_text())["$defs"]
        jsonschema.validate(self.MESSAGE, {**models["SMSMessage"], "$defs": models})

        page = read("bird", {"data": [self.MESSAGE], "next_cursor": None})

        assert page.events == SAMPLES["bird"].provider.status_result(answer(200, self.MESSAGE))
        assert (page.next_page, page.oldest_at) == (None, datetime(2026, 1, 15, 10, 0, tzinfo=UTC))

    def test_goes_on_behind_its_cursor(self) -> None:
        assert read("bird", {"data": [self.MESSAGE], "next_cursor": "sms_1"}).next_page == "sms_1"
        assert query("bird", "sms_1") == {**QUERIES["bird"], "starting_after": "sms_1"}


class TestSinch:
    LIST = RECORDED["sinch"]

    def test_query_is_of_the_sdks_parameters(self) -> None:
        assert set(query("sinch")) <= set(NEWER["list_delivery_reports_query"])

    def test_tells_what_a_single_answer_tells_under_the_same_key(self) -> None:
        """The single one is about a batch, which is one recipient."""
        models = NEWER["$defs"]
        for report in self.LIST["delivery_reports"]:
            jsonschema.validate(report, {**models["RecipientDeliveryReport"], "$defs": models})

        failed, delivered = read("sinch", self.LIST).events

        assert (failed.kind, failed.error_code) == (EventKind.NOT_REACHED, "404")
        full = payload("sinch/delivery_report_full_200.json")
        [single] = SAMPLES["sinch"].provider.status_result(answer(200, full))
        assert (delivered.kind, delivered.dedupe_key) == (EventKind.DELIVERED, single.dedupe_key)
        assert b"14155550100" not in delivered.raw

    @pytest.mark.parametrize(
        ("number", "count", "next_page"), [(0, 2, None), (0, 3, "1"), (1, 102, None), (1, 103, "2")]
    )
    def test_goes_on_by_the_number_of_the_page(self, number: int, count: int, next_page: str | None) -> None:
        page = read("sinch", {**self.LIST, "page": number, "count": count})

        assert page.next_page == next_page
        assert query("sinch", "1") == {**QUERIES["sinch"], "page": "1"}
        assert page.oldest_at == datetime(2026, 1, 15, 10, 0, 3, 123000, tzinfo=UTC)
