"""Every fault, in Python and over HTTP."""

from __future__ import annotations

import time
from typing import Any

import pytest
import requests

from providers.sandbox import Faults, Refusal, Sandbox
from tests.providers.sandbox.clients import PostmarkClient, TwilioClient, number
from tests.providers.sandbox.product import Product


class TestFault:
    @pytest.mark.parametrize("status", [500, 503])
    def test_outage_answers_with_a_page(self, twilio: TwilioClient, sandbox: Sandbox, status: int) -> None:
        sandbox.set_faults("sms-a", outage=f"status_{status}")

        answers = [twilio.send(number("01")), twilio.list()]

        for answer in answers:
            assert answer.status_code == status
            assert answer.headers["Content-Type"] == "text/html"
            assert answer.text.startswith("<html>")
        assert sandbox.counts().taken == 0

    def test_outage_drops_connections(self, twilio: TwilioClient, postmark: PostmarkClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", outage="drop")

        with pytest.raises(requests.ConnectionError):
            twilio.send(number("01"))

        assert sandbox.counts().taken == 0
        assert postmark.send("ana@example.org").status_code == 200

    def test_refuse_refuses_sends(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", refuse={"status": 400, "code": 21608, "message": "unverified"})

        answer = twilio.send(number("01"))

        assert (answer.status_code, answer.json()["code"], answer.json()["message"]) == (400, 21608, "unverified")
        assert twilio.list().status_code == 200

    def test_refuse_with_401_refuses_everything(self, postmark: PostmarkClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("mail", refuse=Refusal(401, 10))

        assert [postmark.send("ana@example.org").json()["ErrorCode"], postmark.search().json()["ErrorCode"]] == [10, 10]

    def test_rate_limit_limits_every_nth_request(
        self, twilio: TwilioClient, postmark: PostmarkClient, sandbox: Sandbox
    ) -> None:
        sandbox.set_faults("sms-a", rate_limit=2)
        sandbox.set_faults("mail", rate_limit=1, retry_after_seconds=7)

        statuses = [twilio.send(number("01")).status_code for _ in range(4)]
        answer = postmark.send("ana@example.org")

        assert statuses == [201, 429, 201, 429]
        assert (answer.status_code, answer.json()["ErrorCode"], answer.headers["Retry-After"]) == (429, 429, "7")

    def test_latency_delays_the_answer_not_the_taking(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", latency_seconds=0.05)
        began_at = time.monotonic()

        twilio.send(number("02"))

        took = time.monotonic() - began_at
        [(_, message)] = sandbox.messages()
        assert took >= 0.05
        assert time.time() - message.taken_at >= 0.05

    def test_accept_then_drop_takes_and_says_nothing(
        self, twilio: TwilioClient, product: Product, sandbox: Sandbox
    ) -> None:
        sandbox.set_faults("sms-a", accept_then_drop=True)

        with pytest.raises(requests.ConnectionError):
            twilio.send(number("01"))

        assert sandbox.counts().taken == 1
        product.wait_for(2)

    def test_look_up_blind_sees_nothing(self, twilio: TwilioClient, postmark: PostmarkClient, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", look_up_blind=True)
        sandbox.set_faults("mail", look_up_blind=True)

        sid = twilio.send(number("01")).json()["sid"]
        postmark.send("ana@example.org", attempt="a-1")

        assert twilio.list(To=number("01")).json()["messages"] == []
        assert twilio.fetch(sid)["status"] == 404
        assert postmark.search(metadata_attempt="a-1").json()["TotalCount"] == 0

    def test_silent_loses_callbacks(self, twilio: TwilioClient, product: Product, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", silent=True)

        sid = twilio.send(number("01")).json()["sid"]

        assert sandbox.wait_idle(10)
        assert product.calls == []
        assert twilio.fetch(sid)["status"] == "delivered"
        assert sandbox.counts().accounts["sms-a"].callbacks == {"silenced": 2}

    def test_lost_to_takes_messages_to_one_country_that_go_nowhere(
        self, twilio: TwilioClient, product: Product, sandbox: Sandbox
    ) -> None:
        sandbox.set_faults("sms-a", lost_to="+49")

        lost = twilio.send(number("01")).json()["sid"]
        arrived = twilio.send("+33600000001").json()["sid"]

        assert sandbox.wait_idle(10)
        assert [twilio.fetch(sid)["status"] for sid in (lost, arrived)] == ["queued", "delivered"]
        assert product.words == ["sent", "delivered"]

    def test_callback_repeat_repeats(self, twilio: TwilioClient, product: Product, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", callback_repeat=3)

        twilio.send(number("01"))

        assert sandbox.wait_idle(10)
        assert product.words == ["sent"] * 3 + ["delivered"] * 3

    def test_callback_shuffle_changes_the_order(self, twilio: TwilioClient, product: Product, sandbox: Sandbox) -> None:
        sandbox.set_faults("sms-a", callback_shuffle=True)

        sid = twilio.send(number("01")).json()["sid"]

        product.wait_for(2)
        assert product.words == ["delivered", "sent"]
        assert twilio.fetch(sid)["status"] == "delivered"


class TestSwitch:
    def test_is_over_http_too(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        url = f"{sandbox.url}/_sandbox/accounts/sms-a/faults"

        changed = twilio.http.post(url, json={"outage": "status_503", "latency_seconds": 0.5}, timeout=10).json()
        read = twilio.http.get(url, timeout=10).json()
        twilio.http.post(url, json={"outage": None}, timeout=10)

        assert (changed["outage"], changed["latency_seconds"]) == ("status_503", 0.5)
        assert read == changed == Faults(outage="status_503", latency_seconds=0.5).as_json()
        assert sandbox.faults("sms-a") == Faults(latency_seconds=0.5)

    @pytest.mark.parametrize(
        "changes",
        [
            {"outages": "drop"},
            {"outage": "sometimes"},
            {"latency_seconds": -1},
            {"latency_seconds": "1"},
            {"rate_limit": 1.5},
            {"silent": 1},
            {"callback_repeat": True},
            {"refuse": {"status": 400}},
            {"refuse": {"status": 200, "code": 1}},
            {"refuse": 401},
            {"outage_to": ""},
            {"lost_to": 49},
        ],
    )
    def test_refuses_what_makes_no_sense(self, sandbox: Sandbox, changes: dict[str, Any]) -> None:
        answer = requests.post(f"{sandbox.url}/_sandbox/accounts/sms-a/faults", json=changes, timeout=10)

        assert answer.status_code == 400
        assert answer.json()["error"]
        with pytest.raises(ValueError, match=next(iter(changes))):
            sandbox.set_faults("sms-a", **changes)
        assert sandbox.faults("sms-a") == Faults()

    def test_knows_its_accounts(self, sandbox: Sandbox) -> None:
        assert requests.get(f"{sandbox.url}/_sandbox/accounts/nobody/faults", timeout=10).status_code == 404
        with pytest.raises(KeyError):
            sandbox.set_faults("nobody", silent=True)
