"""What each number plays, over real HTTP."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
import requests

from providers.sandbox import Sandbox
from tests.providers.sandbox.clients import SERVICE, TWILIO, TwilioClient, eventually, number
from tests.providers.sandbox.conftest import PACE
from tests.providers.sandbox.product import Product


class TestNumber:
    @pytest.mark.parametrize("role", ["01", "11", "42", "99"])
    def test_of_no_other_role_is_delivered(self, twilio: TwilioClient, product: Product, role: str) -> None:
        sid = twilio.send(number(role)).json()["sid"]

        product.wait_for(2)

        assert product.words == ["sent", "delivered"]
        assert twilio.fetch(sid)["status"] == "delivered"

    def test_02_is_taken_and_then_nothing_is_heard(
        self, twilio: TwilioClient, product: Product, sandbox: Sandbox
    ) -> None:
        answer = twilio.send(number("02"))

        assert answer.status_code == 201
        assert sandbox.wait_idle(10)
        assert product.calls == []
        assert twilio.fetch(answer.json()["sid"])["status"] == "queued"

    def test_03_is_undelivered_for_good(self, twilio: TwilioClient, product: Product) -> None:
        sid = twilio.send(number("03")).json()["sid"]

        calls = product.wait_for(2)

        assert product.words == ["sent", "undelivered"]
        assert [call.form.get("ErrorCode") for call in calls] == [None, "30004"]
        assert twilio.fetch(sid)["error_code"] == 30004

    @pytest.mark.parametrize(("role", "code"), [("04", 21211), ("08", 21610)])
    def test_is_refused(self, twilio: TwilioClient, sandbox: Sandbox, role: str, code: int) -> None:
        answer = twilio.send(number(role))

        assert (answer.status_code, answer.json()["code"]) == (400, code)
        assert sandbox.counts().taken == 0

    def test_05_is_too_much_twice_and_then_taken(self, twilio: TwilioClient, other_twilio: TwilioClient) -> None:
        answers = [twilio.send(number("05")).status_code for _ in range(2)]
        others = [client.send(number("05", 1)).status_code for client in (twilio, other_twilio)]
        answers.append(twilio.send(number("05")).status_code)

        assert answers == [429, 429, 201]
        assert others == [429, 429]

    def test_06_is_taken_and_the_answer_withheld(
        self, twilio: TwilioClient, product: Product, sandbox: Sandbox
    ) -> None:
        with pytest.raises(requests.ReadTimeout):
            twilio.send(number("06"), timeout=0.02)

        eventually(lambda: sandbox.counts().taken, lambda taken: taken == 1)
        product.wait_for(2)
        assert product.words == ["sent", "delivered"]

    def test_06_is_found_by_a_look_up_before_it_is_reported(self, product: Product) -> None:
        with Sandbox([TWILIO], pace=replace(PACE, unanswered_after=3600)) as sandbox:
            twilio = TwilioClient(sandbox, TWILIO, f"http://{product.host}/")
            with twilio.http, pytest.raises(requests.ConnectionError):
                twilio.send(number("06"))

            [message] = twilio.list(To=number("06")).json()["messages"]

            assert message["status"] == "queued"
            assert product.calls == []

    def test_06_ends_in_silence_when_the_client_is_patient(self, twilio: TwilioClient) -> None:
        began_at = time.monotonic()

        with pytest.raises(requests.ConnectionError):
            twilio.send(number("06"))

        assert time.monotonic() - began_at >= PACE.hang

    def test_07_reports_late_twice_and_out_of_order(self, twilio: TwilioClient, product: Product) -> None:
        sid = twilio.send(number("07")).json()["sid"]

        calls = product.wait_for(4)

        assert product.words == ["delivered", "delivered", "sent", "sent"]
        assert calls[0].body == calls[1].body
        assert twilio.fetch(sid)["status"] == "delivered"

    def test_09_is_taken_and_the_connection_dropped(
        self, twilio: TwilioClient, product: Product, sandbox: Sandbox
    ) -> None:
        with pytest.raises(requests.ConnectionError):
            twilio.send(number("09"))

        assert sandbox.counts().taken == 1
        product.wait_for(2)
        assert product.words == ["sent", "delivered"]

    def test_10_is_answered_late(self, twilio: TwilioClient, product: Product) -> None:
        began_at = time.monotonic()

        answer = twilio.send(number("10"))

        assert answer.status_code == 201
        assert time.monotonic() - began_at >= PACE.slow_answer
        product.wait_for(2)

    def test_sent_by_a_service_has_its_sender_chosen_later(self, twilio: TwilioClient, product: Product) -> None:
        answer = twilio.send(number("01"), From="", MessagingServiceSid=SERVICE).json()

        assert (answer["status"], answer["from"], answer["num_segments"]) == ("accepted", None, "0")
        assert product.wait_for(2)[1].form["MessagingServiceSid"] == SERVICE
        message = twilio.fetch(answer["sid"])
        assert (message["messaging_service_sid"], message["num_segments"]) == (SERVICE, "1")
        assert message["from"]
