"""Counts, messages, reset, log; many clients at once."""

from __future__ import annotations

import threading

import pytest
import requests

from providers.sandbox import Duplicate, Sandbox, SandboxAccount
from tests.providers.sandbox.clients import OTHER_TWILIO, TWILIO, PostmarkClient, TwilioClient, number
from tests.providers.sandbox.product import Product


class TestCounts:
    def test_know_every_request_and_every_message(
        self, twilio: TwilioClient, postmark: PostmarkClient, sandbox: Sandbox
    ) -> None:
        sid = twilio.send(number("01"), "one", attempt="a-1").json()["sid"]
        twilio.send(number("04"), "two", attempt="b-1")
        twilio.list()
        twilio.fetch(sid)
        with pytest.raises(requests.ConnectionError):
            twilio.send(number("09"), "three", attempt="c-1")
        postmark.send("ana@example.org", attempt="d-1")
        assert sandbox.wait_idle(10)

        counts = sandbox.counts()

        assert counts.accounts["sms-a"].requests == {"send": 3, "find": 1, "status": 1}
        assert counts.accounts["sms-a"].answers == {"201": 1, "400": 1, "200": 2, "dropped": 1}
        assert counts.accounts["sms-a"].callbacks == {"200": 4}
        assert counts.accounts["sms-a"].taken == counts.accounts["sms-a"].unique_attempts == 2
        assert counts.accounts["mail"].taken == 1
        assert (counts.taken, counts.unique_attempts, counts.unique_contents) == (3, 3, 3)
        assert counts.duplicates == ()
        assert counts.pending_callbacks == 0

    def test_show_what_was_taken_twice(
        self, twilio: TwilioClient, other_twilio: TwilioClient, sandbox: Sandbox
    ) -> None:
        twilio.send(number("02"), "one", attempt="a-1")
        twilio.send(number("02"), "one", attempt="a-2")
        other_twilio.send(number("02"), "one", attempt="a-3")
        twilio.send(number("02"), "other", attempt="b-1")

        counts = sandbox.counts()

        assert counts.accounts["sms-a"].duplicates == (
            Duplicate(number("02"), "one", ("a-1", "a-2"), ("sms-a", "sms-a")),
        )
        assert counts.accounts["sms-b"].duplicates == ()
        assert counts.duplicates == (
            Duplicate(number("02"), "one", ("a-1", "a-2", "a-3"), ("sms-a", "sms-a", "sms-b")),
        )

    def test_are_there_over_http(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        for attempt in ("a-1", "a-2"):
            twilio.send(number("02"), "one", attempt=attempt)

        counts = requests.get(f"{sandbox.url}/_sandbox/counts", timeout=10).json()

        assert counts["accounts"]["sms-a"]["taken"] == counts["taken"] == 2
        [duplicate] = counts["duplicates"]
        assert duplicate["attempts"] == ["a-1", "a-2"]

    def test_miss_nothing_of_many_clients_at_once(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        def send(client: int) -> None:
            with requests.Session() as http:
                http.auth = twilio.http.auth
                for index in range(50):
                    form = {"To": number("02", client), "From": "Landfall", "Body": str(index)}
                    assert http.post(twilio.list_url, data=form, timeout=10).status_code == 201

        threads = [threading.Thread(target=send, args=(client,)) for client in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        counts = sandbox.counts()
        assert counts.taken == counts.unique_contents == counts.accounts["sms-a"].requests["send"] == 400


class TestMessages:
    def test_tell_their_story(self, twilio: TwilioClient, postmark: PostmarkClient, sandbox: Sandbox) -> None:
        sid = twilio.send(number("01"), attempt="a-1").json()["sid"]
        postmark.send("complaint@example.org", attempt="b-1")
        assert sandbox.wait_idle(10)

        told = requests.get(f"{sandbox.url}/_sandbox/messages", timeout=10).json()

        assert told["total"] == 2
        [sms, mail] = told["messages"]
        assert (sms["account"], sms["id"], sms["to"], sms["attempt"]) == ("sms-a", sid, number("01"), "a-1")
        assert (sms["role"], sms["status"]) == ("delivered", "delivered")
        assert [report["status"] for report in sms["reported"]] == ["sent", "delivered"]
        assert [report["status"] for report in mail["reported"]] == ["Delivery", "SpamComplaint"]

    @pytest.mark.parametrize(
        ("query", "texts"),
        [
            ({"account": "sms-a"}, ["one", "two"]),
            ({"to": number("02", 1)}, ["two", "three"]),
            ({"limit": "1"}, ["three"]),
            ({"account": "nobody"}, None),
        ],
    )
    def test_are_chosen(
        self,
        twilio: TwilioClient,
        other_twilio: TwilioClient,
        sandbox: Sandbox,
        query: dict[str, str],
        texts: list[str] | None,
    ) -> None:
        twilio.send(number("02"), attempt="one")
        twilio.send(number("02", 1), attempt="two")
        other_twilio.send(number("02", 1), attempt="three")

        answer = requests.get(f"{sandbox.url}/_sandbox/messages", params=query, timeout=10)

        if texts is None:
            assert answer.status_code == 404
        else:
            assert [message["attempt"] for message in answer.json()["messages"]] == texts


class TestReset:
    def test_empties_everything(
        self, twilio: TwilioClient, postmark: PostmarkClient, product: Product, sandbox: Sandbox
    ) -> None:
        postmark.send("bounce@example.org")
        product.wait_for(1)
        twilio.send(number("05"))
        sandbox.set_faults("mail", outage="drop")

        requests.post(f"{sandbox.url}/_sandbox/reset", timeout=10)

        counts = sandbox.counts()
        assert counts.taken == counts.unknown_requests == 0
        assert counts.accounts["sms-a"].requests == {}
        assert sandbox.messages() == []
        assert postmark.send("bounce@example.org").status_code == 200
        assert [twilio.send(number("05")).status_code for _ in range(3)] == [429, 429, 201]


class TestSandbox:
    def test_logs_without_secrets_and_addresses(
        self, twilio: TwilioClient, postmark: PostmarkClient, sandbox: Sandbox, log: list[str]
    ) -> None:
        twilio.send(number("01"), "the secret text")
        postmark.send("ana.pereira@example.org")
        assert sandbox.wait_idle(10)

        lines = "\n".join(log)

        assert "sms-a: send → 201" in lines
        assert "for +49…01, role delivered" in lines
        assert "for a…@example.org" in lines
        assert "sms-a: callback delivered" in lines
        for private in (number("01"), "ana.pereira", "the secret text", *TWILIO.credentials.values(), "pm-pass"):
            assert private not in lines

    def test_says_how_many_reports_it_takes_with_it(self, product: Product) -> None:
        log: list[str] = []
        with Sandbox([TWILIO], log=log.append) as sandbox:
            twilio = TwilioClient(sandbox, TWILIO, f"http://{product.host}/")
            with twilio.http:
                twilio.send(number("07"))

        assert log[-1] == "stopped; 1 reports were still to come and are lost"

    def test_says_where_it_is(self, sandbox: Sandbox) -> None:
        accounts = requests.get(f"{sandbox.url}/_sandbox/accounts", timeout=10).json()

        assert [account["slug"] for account in accounts] == ["sms-a", "sms-b", "mail", "letters"]
        assert [account["base_url"] for account in accounts] == [sandbox.base_url(a["slug"]) for a in accounts]
        assert sandbox.base_url("mail") == f"{sandbox.url}/postmark"

    @pytest.mark.parametrize(
        ("accounts", "why"),
        [
            ([TWILIO, TWILIO], "two accounts"),
            ([SandboxAccount("x", "pigeon", {})], "pigeon"),
            ([SandboxAccount("x", "twilio", {"account_sid": "AC1", "auth_token": ""})], "x has no auth_token"),
        ],
    )
    def test_refuses_accounts_that_cannot_be(self, accounts: list[SandboxAccount], why: str) -> None:
        with pytest.raises(ValueError, match=why):
            Sandbox(accounts)

    def test_serves_until_stopped(self) -> None:
        sandbox = Sandbox([OTHER_TWILIO])
        thread = threading.Thread(target=sandbox.serve_forever)
        thread.start()

        assert requests.get(f"{sandbox.url}/_sandbox/counts", timeout=10).status_code == 200
        sandbox.stop()

        thread.join(10)
        assert not thread.is_alive()
