"""Postmark: roles, refusals, search, details, webhooks."""

from __future__ import annotations

import time
from typing import Any

import pytest
import requests

from providers.sandbox import Sandbox
from tests.providers.sandbox.clients import PostmarkClient, eventually, payload, shape
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Product


def inactive(address: str) -> Any:
    example = payload("postmark/error-422-406-inactive.json")
    return example | {"Message": example["Message"].replace("old@example.org", address)}


class TestAddress:
    @pytest.mark.parametrize("local", ["delivered", "delivered+17", "Delivered", "ana.pereira", "jörg"])
    def test_of_no_other_role_is_delivered(self, postmark: PostmarkClient, product: Product, local: str) -> None:
        id = postmark.send(f"{local}@example.org").json()["MessageID"]

        [call] = product.wait_for(1)

        assert call.word == "Delivery"
        assert call.json["Recipient"] == f"{local}@example.org"
        assert [event["Type"] for event in postmark.details(id)["MessageEvents"]] == ["Delivered"]

    def test_silent_is_sent_and_nothing_more(
        self, postmark: PostmarkClient, product: Product, sandbox: Sandbox
    ) -> None:
        id = postmark.send("silent+1@example.org").json()["MessageID"]

        assert sandbox.wait_idle(10)
        assert product.calls == []
        details = postmark.details(id)
        assert (details["Status"], details["MessageEvents"]) == ("Sent", [])

    @pytest.mark.parametrize(
        ("local", "words", "example"),
        [
            ("delivered", ["Delivery"], "webhook-delivery.json"),
            ("bounce", ["Bounce"], "webhook-bounce-hard.json"),
            ("softbounce", ["Bounce"], "webhook-bounce-soft.json"),
            ("complaint", ["Delivery", "SpamComplaint"], "webhook-spam-complaint.json"),
        ],
    )
    def test_is_reported_as_in_the_example(
        self, postmark: PostmarkClient, product: Product, local: str, words: list[str], example: str
    ) -> None:
        to = f"{local}+ana@example.net"
        id = postmark.send(to, attempt="0123-1").json()["MessageID"]

        calls = product.wait_for(len(words))

        expected = payload(f"postmark/{example}")
        told = calls[-1].json
        assert product.words == words
        assert shape(told) == shape(expected | {"Metadata": {"attempt": "…"}})
        address = "Recipient" if local == "delivered" else "Email"
        own = {"MessageID": id, "Metadata": {"attempt": "0123-1"}, address: to}
        changing = {name: told[name] for name in ("ID", "BouncedAt", "DeliveredAt") if name in told}
        assert told == expected | own | changing

    @pytest.mark.parametrize("local", ["bounce", "complaint"])
    def test_is_inactive_afterwards(self, postmark: PostmarkClient, product: Product, local: str) -> None:
        postmark.send(f"{local}@example.org")
        eventually(lambda: product.words, lambda words: bool(words) and words[-1] in ("Bounce", "SpamComplaint"))

        answer = postmark.send(f"{local.upper()}@example.org")

        assert answer.status_code == 422
        assert answer.json() == inactive(f"{local.upper()}@example.org")
        assert postmark.send(f"{local}+other@example.org").status_code == 200

    def test_that_bounced_softly_stays_active(self, postmark: PostmarkClient, product: Product) -> None:
        postmark.send("softbounce@example.org")
        product.wait_for(1)

        assert postmark.send("softbounce@example.org").status_code == 200

    def test_that_is_inactive_among_others_is_left_out(self, postmark: PostmarkClient, product: Product) -> None:
        postmark.send("bounce@example.org")
        product.wait_for(1)

        answer = postmark.send("ana@example.net, bounce@example.org")

        expected = payload("postmark/send-response-200-partly-inactive.json")["Message"]
        assert answer.status_code == 200
        assert answer.json()["Message"] == expected.replace("old@", "bounce@")

    def test_invalid_is_refused(self, postmark: PostmarkClient, sandbox: Sandbox) -> None:
        answer = postmark.send("invalid@example.org")

        assert (answer.status_code, answer.json()["ErrorCode"]) == (422, 300)
        assert answer.json()["Message"].startswith("Invalid 'To' address")
        assert sandbox.counts().taken == 0

    def test_slow_is_answered_late(self, postmark: PostmarkClient) -> None:
        began_at = time.monotonic()

        assert postmark.send("slow@example.org").status_code == 200
        assert time.monotonic() - began_at >= PACE.slow_answer

    def test_timeout_is_taken_and_the_answer_withheld(
        self, postmark: PostmarkClient, product: Product, sandbox: Sandbox
    ) -> None:
        with pytest.raises(requests.ReadTimeout):
            postmark.send("timeout@example.org", attempt="0123-1", timeout=0.02)

        eventually(lambda: postmark.search(metadata_attempt="0123-1").json()["TotalCount"], lambda count: count == 1)
        product.wait_for(1)
        assert product.words == ["Delivery"]


class TestSend:
    def test_is_answered_as_in_the_example(self, postmark: PostmarkClient) -> None:
        answer = postmark.send("Ana Pereira <ana.pereira@example.net>")

        example = payload("postmark/send-response-200.json")
        assert answer.status_code == 200
        assert shape(answer.json()) == shape(example)
        assert {name: answer.json()[name] for name in ("To", "ErrorCode", "Message")} == {
            "To": "ana.pereira@example.net",
            "ErrorCode": 0,
            "Message": "OK",
        }
        assert len(answer.json()["SubmittedAt"]) == len(example["SubmittedAt"])

    @pytest.mark.parametrize(
        ("change", "code", "message"),
        [
            ({"To": ""}, 300, "Zero recipients"),
            ({"To": "ana.pereira@"}, 300, "Invalid 'To' address: 'ana.pereira@'."),
            ({"To": "ana@localhost"}, 300, "Invalid 'To' address"),
            ({"To": ", ".join(f"a{index}@example.org" for index in range(51))}, 300, "You have specified 51"),
            ({"Cc": "nobody"}, 300, "Invalid 'Cc' address"),
            ({"From": "nobody"}, 300, "Invalid 'From' address"),
            ({"TextBody": "", "HtmlBody": None}, 300, "Provide either"),
            ({"Metadata": {"a-name-longer-than-twenty": "x"}}, 300, "Metadata"),
            ({"Metadata": {"attempt": "x" * 81}}, 300, "Metadata"),
            ({"Metadata": {str(index): "x" for index in range(11)}}, 300, "Metadata"),
            ({"Metadata": {"attempt": 1}}, 403, "The 'Metadata' field"),
            ({"Headers": [{"Name": "X-Attempt-Id"}]}, 403, "The 'Headers' field"),
            ({"Subject": 1}, 403, "The 'Subject' field"),
        ],
    )
    def test_is_refused(
        self, postmark: PostmarkClient, sandbox: Sandbox, change: dict[str, Any], code: int, message: str
    ) -> None:
        answer = postmark.send(**{"to": "ana@example.org"} | change)

        assert (answer.status_code, answer.json()["ErrorCode"]) == (422, code)
        assert answer.json()["Message"].startswith(message)
        assert sandbox.counts().taken == 0

    @pytest.mark.parametrize(
        ("body", "content_type", "code"),
        [(b"{", "application/json", 402), (b"[]", "application/json", 402), (b"{}", "text/plain", 409)],
    )
    def test_must_be_json(self, postmark: PostmarkClient, body: bytes, content_type: str, code: int) -> None:
        answer = postmark.http.post(
            f"{postmark.base_url}/email", data=body, headers={"Content-Type": content_type}, timeout=10
        )

        assert (answer.status_code, answer.json()["ErrorCode"]) == (422, code)

    def test_survives_half_an_emoji(self, postmark: PostmarkClient, product: Product) -> None:
        id = postmark.send("ana@example.org", Subject="Hello \ud83d").json()["MessageID"]

        assert postmark.details(id)["Subject"].startswith("Hello ")

    @pytest.mark.parametrize(("token", "start"), [("wrong", "The Server Token"), (None, "No Account or Server API")])
    def test_needs_the_token(self, postmark: PostmarkClient, sandbox: Sandbox, token: str | None, start: str) -> None:
        postmark.http.headers["X-Postmark-Server-Token"] = token  # type: ignore[assignment]

        answer = postmark.send("ana@example.org")

        assert (answer.status_code, answer.json()["ErrorCode"]) == (401, 10)
        assert answer.json()["Message"].startswith(start)
        assert sandbox.counts().unknown_requests == 1


class TestSearch:
    def test_is_answered_as_in_the_example(self, postmark: PostmarkClient, product: Product) -> None:
        example = payload("postmark/message-search-response.json")
        [expected] = example["Messages"]
        postmark.send("Ana Pereira <ana.pereira@example.net>", Metadata=expected["Metadata"])
        product.wait_for(1)

        answer = postmark.search(metadata_send_id="snd_01JD9XK3T7Q2R8V5M4N6P0Z1AB", messagestream="outbound").json()

        [message] = answer["Messages"]
        own = {name: message[name] for name in ("MessageID", "ReceivedAt")}
        sender = {"From": "Example Notifications <no-reply@notify.example.com>"}  # quoted in the example
        assert answer["TotalCount"] == 1
        assert message == expected | own | sender
        assert len(message["ReceivedAt"]) == len(expected["ReceivedAt"])

    @pytest.mark.parametrize(
        ("query", "count"),
        [
            ({}, 3),
            ({"recipient": "BEN@example.org"}, 1),
            ({"metadata_attempt": "a-1"}, 2),
            ({"metadata_attempt": "a-1", "recipient": "ana@example.org"}, 1),
            ({"metadata_attempt": "nobody"}, 0),
            ({"metadata_other": "a-1"}, 0),
            ({"tag": "order-shipped"}, 3),
            ({"tag": "other"}, 0),
            ({"messagestream": "broadcast"}, 0),
            ({"subject": "Hello"}, 1),
            ({"fromemail": "no-reply@notify.example.com"}, 3),
            ({"fromdate": "2001-01-01"}, 3),
            ({"todate": "2001-01-01"}, 0),
            ({"status": "queued"}, 0),
        ],
    )
    def test_finds(self, postmark: PostmarkClient, sandbox: Sandbox, query: dict[str, str], count: int) -> None:
        postmark.send("ana@example.org", attempt="a-1")
        postmark.send("ben@example.org", attempt="a-1")
        postmark.send("cleo@example.org", attempt="a-2", Subject="Hello")
        assert sandbox.wait_idle(10)

        assert postmark.search(**query).json()["TotalCount"] == count

    def test_is_read_page_by_page(self, postmark: PostmarkClient) -> None:
        for index in range(3):
            postmark.send(f"silent+{index}@example.org")

        pages = [postmark.search(count=2, offset=offset).json() for offset in (0, 2)]

        assert [page["TotalCount"] for page in pages] == [3, 3]
        assert [message["Recipients"] for page in pages for message in page["Messages"]] == [
            [f"silent+{index}@example.org"] for index in (2, 1, 0)
        ]

    @pytest.mark.parametrize(
        "query",
        [{"count": 501}, {"count": 500, "offset": 9501}, {"offset": "x"}, {"metadata_a": "1", "metadata_b": "2"}],
    )
    def test_has_limits(self, postmark: PostmarkClient, query: dict[str, Any]) -> None:
        assert postmark.search(**query).status_code == 422

    def test_lags(self, postmark: PostmarkClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("mail", look_up_lag_seconds=3600)
        id = postmark.send("ana@example.org", attempt="a-1").json()["MessageID"]

        assert postmark.search(metadata_attempt="a-1").json() == {"TotalCount": 0, "Messages": []}
        assert postmark.details(id)["MessageID"] == id
        sandbox.set_faults("mail", look_up_lag_seconds=0.05)
        eventually(lambda: postmark.search(metadata_attempt="a-1").json()["TotalCount"], lambda count: count == 1)


class TestDetails:
    def test_are_as_in_the_example(self, postmark: PostmarkClient, product: Product) -> None:
        example = payload("postmark/message-details-response.json")
        id = postmark.send("Ana Pereira <ana.pereira@example.net>", Metadata=example["Metadata"]).json()["MessageID"]
        product.wait_for(1)

        details = postmark.details(id)

        assert shape(details) == shape(example)
        assert details["MessageEvents"][0]["Details"] == example["MessageEvents"][0]["Details"]
        assert details["TextBody"] == example["TextBody"]

    def test_tell_of_a_bounce(self, postmark: PostmarkClient, product: Product) -> None:
        id = postmark.send("bounce@example.org").json()["MessageID"]
        [call] = product.wait_for(1)

        [event] = postmark.details(id)["MessageEvents"]

        assert (event["Type"], event["Details"]["BounceID"]) == ("Bounced", str(call.json["ID"]))

    def test_of_a_message_that_is_none_are_refused(self, postmark: PostmarkClient) -> None:
        assert postmark.details("b7bc2f4a-e38e-4336-af7d-e6c392c2f817")["ErrorCode"] == 701


class TestWebhook:
    def test_carries_the_credentials_of_its_url(self, postmark: PostmarkClient, product: Product) -> None:
        postmark.send("ana@example.org")

        [call] = product.wait_for(1)

        expected = payload("postmark/webhook-auth-vector.json")["expected_header"]
        assert f"Authorization: {call.headers['authorization']}" == expected
        assert call.url == f"http://{product.host}/webhooks/mail/"

    @pytest.mark.parametrize(
        ("statuses", "calls"), [([500, 200], 2), ([401, 204, 404, 200], 3), ([403, 200], 1), ([500, 403, 200], 2)]
    )
    def test_is_repeated_until_200_or_403(
        self, postmark: PostmarkClient, product: Product, sandbox: Sandbox, statuses: list[int], calls: int
    ) -> None:
        product.status = lambda number: statuses[number]

        postmark.send("ana@example.org")

        assert sandbox.wait_idle(10)
        assert product.words == ["Delivery"] * calls
        assert len({call.body for call in product.calls}) == 1
