"""An endpoint: what it is sent, how that is signed, and what its answers mean."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from providers.errors import EndpointGone, ProviderError, RateLimited, Unavailable, UnsupportedFeature
from providers.messages import AttemptRef, Channel, HttpRequest, SendResult
from providers.webhook import signature
from tests.providers.samples.base import ATTEMPT, NOW, answer, payload
from tests.providers.samples.webhook import SAMPLE, SECRET, URL, webhook

MESSAGE = SAMPLE.message
OTHER_SECRET = "whsec_" + base64.b64encode(b"another secret of 32 bytes at all"[:32]).decode()


def call(adapter: Any, text: str = MESSAGE.text, now: datetime = NOW) -> HttpRequest:
    return adapter.authorize(adapter.send_request(replace(MESSAGE, text=text), ATTEMPT), now)


class TestSignature:
    def test_is_that_of_the_specification(self) -> None:
        vector = json.loads(payload("webhook/standard-webhooks-vector.json"))
        headers, body = vector["headers"], vector["raw_body"].encode()

        made = signature.standard(
            headers["webhook-id"], int(headers["webhook-timestamp"]), body, [signature.key(vector["secret"])]
        )

        assert made == headers["webhook-signature"]

    def test_of_a_rotation_is_one_by_each_secret(self) -> None:
        vector = json.loads(payload("webhook/standard-webhooks-vector.json"))
        headers, body = vector["headers"], vector["raw_body"].encode()
        keys = [signature.key(vector["secret"]), signature.key(OTHER_SECRET)]

        first, second = signature.standard(headers["webhook-id"], 1796055640, body, keys).split(" ")

        rotated = json.loads(payload("webhook/standard-webhooks-rotation.json"))["webhook-signature"].split(" ")
        assert first == rotated[0]
        assert second != rotated[0]
        assert [len(made) for made in (first, second)] == [len(made) for made in rotated]

    def test_of_github_is_that_of_its_documentation(self) -> None:
        vector = json.loads(payload("webhook/github-style-vector.json"))

        made = signature.github(vector["raw_body"].encode(), vector["secret"])

        assert made == vector["header"]["X-Hub-Signature-256"]

    def test_a_new_secret_can_be_used_and_is_new(self) -> None:
        first, second = signature.new_secret(), signature.new_secret()

        assert first != second
        assert len(signature.key(first)) == 32

    @pytest.mark.parametrize(
        "secret",
        [
            "",
            "whsec_",
            SECRET.removeprefix("whsec_"),
            "whsec_" + base64.b64encode(b"x" * 23).decode(),
            "whsec_" + base64.b64encode(b"x" * 65).decode(),
            "whsec_no base64",
            "whsk_" + base64.b64encode(b"x" * 32).decode(),
        ],
    )
    def test_what_is_no_secret(self, secret: str) -> None:
        with pytest.raises(ValueError, match=r"secret|base64|padding|alphabet"):
            signature.key(secret)


class TestCalls:
    def test_is_what_the_specification_shows(self) -> None:
        request = call(webhook())

        assert (request.method, request.url, request.is_foreign) == ("POST", URL, True)
        assert request.headers["Content-Type"] == "application/json"
        assert request.headers["webhook-id"] == f"msg_{ATTEMPT.message}"
        assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
        assert "." not in request.headers["webhook-id"]

    def test_the_body_is_the_event_byte_for_byte(self) -> None:
        text = '{"type":"x","data":{"name":"Ångström ✅ \\u0000","n":1.0}}'

        request = call(webhook(), text)

        assert request.body == text.encode()
        expected = signature.standard(
            request.headers["webhook-id"], int(NOW.timestamp()), text.encode(), [signature.key(SECRET)]
        )
        assert request.headers["webhook-signature"] == expected

    def test_a_repetition_has_the_id_of_the_first_and_a_time_of_its_own(self) -> None:
        adapter, later = webhook(), NOW + timedelta(minutes=5)
        again = AttemptRef(f"{ATTEMPT.message}-2")

        first = call(adapter)
        second = adapter.authorize(adapter.send_request(MESSAGE, again), later)

        assert second.headers["webhook-id"] == first.headers["webhook-id"]
        assert second.headers["webhook-timestamp"] != first.headers["webhook-timestamp"]
        assert second.headers["webhook-signature"] != first.headers["webhook-signature"]
        assert second.parts == first.parts

    def test_that_repeats_an_earlier_one_is_known_by_its_id(self) -> None:
        message = replace(MESSAGE, event="0197b0c2f0c17cc0a1b2c3d4e5f60001")

        assert webhook().send_request(message, ATTEMPT).headers["webhook-id"] == f"msg_{message.event}"

    @pytest.mark.parametrize(
        ("now", "count"), [(NOW, 2), (NOW + timedelta(hours=23), 2), (NOW + timedelta(hours=24), 1)]
    )
    def test_the_secret_before_signs_for_a_while(self, now: datetime, count: int) -> None:
        adapter = webhook(
            credentials={"previous_secret": OTHER_SECRET},
            previous_secret_until=(NOW + timedelta(hours=24)).isoformat(),
        )

        signatures = call(adapter, now=now).headers["webhook-signature"].split(" ")

        assert len(signatures) == count
        assert signatures[0] == call(webhook(), now=now).headers["webhook-signature"]

    @pytest.mark.parametrize("until", [None, "", "soon", 7])
    def test_without_an_end_the_secret_before_signs_nothing(self, until: Any) -> None:
        adapter = webhook(credentials={"previous_secret": OTHER_SECRET}, previous_secret_until=until)

        assert " " not in call(adapter).headers["webhook-signature"]

    def test_signs_as_github_does_if_it_is_asked_to(self) -> None:
        request = call(webhook(credentials={"github_secret": "It's a Secret to Everybody"}), "Hello, World!")

        assert request.headers["X-Hub-Signature-256"].startswith("sha256=757107ea0eb2509f")
        assert "X-Hub-Signature-256" not in call(webhook()).headers

    def test_has_its_owners_headers_but_ours_win(self) -> None:
        request = call(webhook(headers={"X-Tenant": "7", "Content-Type": "text/plain", "webhook-id": "forged"}))

        assert request.headers["X-Tenant"] == "7"
        assert request.headers["Content-Type"] == "application/json"
        assert request.headers["webhook-id"] == f"msg_{ATTEMPT.message}"

    def test_no_secret_is_in_it(self) -> None:
        request = call(webhook(credentials={"github_secret": "It's a Secret to Everybody"}))

        for text in (request.url, *request.headers.values(), request.body.decode()):
            assert SECRET.removeprefix("whsec_") not in text
            assert "Everybody" not in text

    def test_reaches_itself_alone(self) -> None:
        assert webhook(slug="billing").reach == "billing"

    @pytest.mark.parametrize("credentials", [{"url": ""}, {"secret": "nonsense"}, {"secret": ""}])
    def test_one_that_is_not_set_up_is_switched_off(self, credentials: dict[str, str]) -> None:
        with pytest.raises(EndpointGone):
            call(webhook(credentials=credentials))

    @pytest.mark.parametrize("changes", [{"channel": Channel.SMS}, {"subject": "s"}, {"html": "<p>"}])
    def test_takes_events_only(self, changes: dict[str, Any]) -> None:
        with pytest.raises(UnsupportedFeature):
            webhook().send_request(replace(MESSAGE, **changes), ATTEMPT)


def meaning(status: int) -> type[ProviderError] | None:
    try:
        webhook().send_result(answer(status, "<html>"))
    except ProviderError as error:
        kept = (error.http_status, error.code, error.suppress)
        return type(error) if kept == (status, str(status), None) else ProviderError
    return None


class TestAnswers:
    def test_every_status_has_a_meaning(self) -> None:
        no = dict.fromkeys(range(300, 600), Unavailable) | {410: EndpointGone, 429: RateLimited}

        assert {status: meaning(status) for status in range(200, 600)} == dict.fromkeys(range(200, 300)) | no

    @pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\0", b'{"id": "x"}', b"[" * 100_000])
    def test_a_yes_is_a_status_whatever_it_says(self, body: bytes) -> None:
        assert webhook().send_result(answer(204, body)) == SendResult(None, "204")

    @pytest.mark.parametrize("status", [429, 502, 503, 504, 500, 404])
    def test_says_when_to_come_again(self, status: int) -> None:
        dated = {"Retry_After": "Fri, 15 Jan 2027 10:02:00 GMT", "Date": "Fri, 15 Jan 2027 10:00:00 GMT"}

        for headers, seconds in (({"Retry_After": "7"}, 7.0), (dated, 120.0), ({"Retry_After": "soon"}, None)):
            with pytest.raises(ProviderError) as caught:
                webhook().send_result(answer(status, "", **headers))
            assert caught.value.retry_after_seconds == seconds


def test_its_schedule_is_that_of_the_specification_over_five_days() -> None:
    schedule = webhook().schedule_seconds

    assert schedule[:9] == (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
    assert timedelta(days=5) < timedelta(seconds=sum(schedule)) < timedelta(seconds=webhook().key_life_seconds)
