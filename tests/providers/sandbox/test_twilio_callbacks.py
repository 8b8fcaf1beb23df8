"""Callbacks: signed, one connection retry, none for an HTTP error."""

from __future__ import annotations

import base64
import hmac
import socket
from urllib.parse import parse_qsl

import pytest

from providers.sandbox import Sandbox
from providers.sandbox.vendors.twilio.shapes import signature
from tests.providers.sandbox.clients import PAYLOADS, TWILIO, TwilioClient, number, payload
from tests.providers.sandbox.product import Call, Product


def expected_signature(call: Call) -> str:
    """As documented by Twilio, without the sandbox's help."""
    text = call.url
    for name, value in sorted(parse_qsl(call.body.decode(), keep_blank_values=True)):
        text += name + value
    token = TWILIO.credentials["auth_token"].encode()
    return base64.b64encode(hmac.new(token, text.encode(), "sha1").digest()).decode()


class TestSignature:
    def test_is_that_of_the_vendors_own_sdk(self) -> None:
        vector = payload("twilio/signature_vectors.json")["twilio_form"]

        assert signature(vector["auth_token"], vector["url"], vector["params"]) == vector["signature"]

    def test_covers_the_url_as_called_and_the_form(self, twilio: TwilioClient, product: Product) -> None:
        twilio.send(number("03"), attempt="0123-1")

        for call in product.wait_for(2):
            assert call.url.endswith("/webhooks/sms-a/?attempt=0123-1")
            assert call.headers["x-twilio-signature"] == expected_signature(call)

    def test_leaves_out_the_fragment(self, twilio: TwilioClient, product: Product) -> None:
        twilio.send(number("01"), StatusCallback=f"http://{product.host}/here?x=1#rc=2")

        [call, _] = product.wait_for(2)

        assert call.url == f"http://{product.host}/here?x=1"
        assert call.headers["x-twilio-signature"] == expected_signature(call)


class TestCallback:
    def test_has_the_fields_of_the_example(self, twilio: TwilioClient, product: Product) -> None:
        twilio.send("+14155550100")

        [sent, delivered] = product.wait_for(2)

        example = dict(parse_qsl((PAYLOADS / "twilio/callback_delivered.txt").read_text().strip()))
        changing = ("MessageSid", "SmsSid", "MessageStatus", "SmsStatus")
        assert set(sent.form) == set(example)
        assert set(delivered.form) == set(example) | {"RawDlrDoneDate"}
        assert delivered.form["MessageStatus"] == delivered.form["SmsStatus"] == "delivered"
        for name in set(example) - set(changing):
            assert delivered.form[name] == example[name]
        assert delivered.headers["content-type"].startswith("application/x-www-form-urlencoded")

    def test_is_not_made_without_an_address(self, twilio: TwilioClient, product: Product, sandbox: Sandbox) -> None:
        twilio.callback_url = None

        sid = twilio.send(number("01")).json()["sid"]

        assert sandbox.wait_idle(10)
        assert product.calls == []
        assert twilio.fetch(sid)["status"] == "delivered"

    @pytest.mark.parametrize("status", [404, 500, 503])
    def test_is_not_repeated_after_an_http_error(
        self, twilio: TwilioClient, product: Product, sandbox: Sandbox, status: int
    ) -> None:
        product.status = lambda number: status

        twilio.send(number("01"))

        assert sandbox.wait_idle(10)
        assert product.words == ["sent", "delivered"]
        assert sandbox.counts().accounts["sms-a"].callbacks == {str(status): 2}

    def test_is_tried_twice_when_nobody_listens(self, twilio: TwilioClient, sandbox: Sandbox) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]

        twilio.send(number("01"), StatusCallback=f"http://127.0.0.1:{port}/")

        assert sandbox.wait_idle(10)
        assert sandbox.counts().accounts["sms-a"].callbacks == {"not connected": 4}

    def test_outlives_a_connection_that_was_closed(
        self, twilio: TwilioClient, product: Product, sandbox: Sandbox
    ) -> None:
        product.status = lambda number: None if number == 1 else 200

        twilio.send(number("01"))

        product.wait_for(3)
        assert product.words == ["sent", "delivered", "delivered"]
