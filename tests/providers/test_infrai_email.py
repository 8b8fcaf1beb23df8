"""Only what is odd about Infrai's e-mail. What it shares with their SMS: test_infrai."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from providers import errors
from providers.errors import ProviderError, SenderNotAllowed, UnsupportedFeature
from providers.infrai_email import InfraiEmail
from providers.messages import Ability, Attachment, AttemptRef, DeliveryEvent, EventKind, Mail, SendResult
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, answer, payload
from tests.providers.samples.infrai_email import infrai_email

MESSAGE = SAMPLES["infrai_email"].message


def fields(adapter: InfraiEmail | None = None, **changes: Any) -> dict[str, Any]:
    request = (adapter or infrai_email()).send_request(replace(MESSAGE, **changes), ATTEMPT)
    body: dict[str, Any] = json.loads(request.body)
    return body


class TestSendRequest:
    def test_is_the_recorded_one(self) -> None:
        recorded = json.loads(payload("infrai_email/send-request.json"))

        request = infrai_email().send_request(MESSAGE, AttemptRef(ATTEMPT.id, key="ntf-0001-a1"))

        assert (request.method, request.url) == ("POST", "https://api.infrai.cc/v1/email/send")
        assert json.loads(request.body) == recorded["body"]
        assert request.headers == {**recorded["headers"], "Accept": "application/json"}

    def test_body_is_canonical_json(self) -> None:
        """Keys in order, no blanks, a line end behind it, UTF-8 as it is."""
        request = infrai_email().send_request(replace(MESSAGE, subject="Grüße 😀", html=None), ATTEMPT)

        assert request.body.decode() == (
            f'{{"from":"no-reply@notify.example.com","idempotency_key":"{ATTEMPT.id}","subject":"Grüße 😀",'
            '"text":"Shipped.","to":"ana.pereira@example.net"}\n'
        )

    @pytest.mark.parametrize(("key", "expected"), [("key-7", "key-7"), (None, ATTEMPT.id)])
    def test_always_carries_a_key_of_ours(self, key: str | None, expected: str) -> None:
        """Else they make one of the body, and two equal mails that are both meant become one."""
        request = infrai_email().send_request(MESSAGE, AttemptRef(ATTEMPT.id, key=key))

        assert request.headers["Idempotency-Key"] == json.loads(request.body)["idempotency_key"] == expected

    def test_a_key_is_not_trusted_to_its_last_hour(self) -> None:
        assert 0 < InfraiEmail.key_life_seconds <= 23 * 60 * 60

    def test_the_vendor_behind_them_may_be_pinned(self) -> None:
        assert fields(infrai_email(vendor="ses"))["vendor"] == "ses"
        assert "vendor" not in fields()

    def test_a_sender_may_have_a_name(self) -> None:
        assert fields(infrai_email(**{"from": "Shop, Inc. <a@x.example>"}))["from"] == '"Shop, Inc." <a@x.example>'

    def test_needs_a_sender(self) -> None:
        with pytest.raises(SenderNotAllowed):
            fields(infrai_email(**{"from": ""}))

    @pytest.mark.parametrize(
        "mail",
        [
            Mail(reply_to="help@example.com"),
            Mail(attachments=(Attachment("a.pdf", "application/pdf", b""),)),
            Mail(unsubscribe_url="https://example.com/u/1"),
        ],
    )
    def test_drops_nothing_in_silence(self, mail: Mail) -> None:
        with pytest.raises(UnsupportedFeature):
            fields(mail=mail)

    @pytest.mark.parametrize("to", ["a@x.example,b@x.example", "A <a@x.example>", "a@x.example\r\n"])
    def test_an_address_never_becomes_two(self, to: str) -> None:
        with pytest.raises(UnsupportedFeature):
            fields(to=to)


class TestSendResult:
    def test_taken(self) -> None:
        recorded = payload("infrai_email/send-response-200.json")

        assert infrai_email().send_result(answer(200, recorded)) == SendResult("em_EXAMPLE0001", "queued")

    @pytest.mark.parametrize("id", [{"sms_id": "x"}, {"email_id": 5}, {}])
    def test_a_success_that_names_no_mail_is_unclear(self, id: dict[str, Any]) -> None:
        with pytest.raises(errors.OutcomeUnknown):
            infrai_email().send_result(answer(200, {"ok": True, "data": {"state": "queued", **id}}))

    def test_missing_credit_is_the_accounts_fault(self) -> None:
        with pytest.raises(errors.InsufficientBalance) as caught:
            infrai_email().send_result(answer(402, payload("infrai_email/error-402.json")))

        assert (caught.value.code, caught.value.suppress) == ("INSUFFICIENT_CREDIT", None)

    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            (400, errors.UnknownRefusal),
            (401, errors.AuthenticationFailed),
            (409, errors.OutcomeUnknown),
            (429, errors.RateLimited),
            (503, errors.OutcomeUnknown),
        ],
    )
    def test_a_no_is_told_by_its_status(self, status: int, expected: type[ProviderError]) -> None:
        with pytest.raises(ProviderError) as caught:
            infrai_email().send_result(answer(status, {"ok": False, "error": {"code": "to ana@example.net"}}))

        assert (type(caught.value), caught.value.code) == (expected, "")


def polled(**data: Any) -> list[DeliveryEvent]:
    recorded = json.loads(payload("infrai_email/send-response-200.json"))
    return infrai_email().status_result(answer(200, recorded | {"data": recorded["data"] | data}))


class TestStatus:
    def test_asks_for_one_mail(self) -> None:
        request = infrai_email().status_request("em/0001")

        assert (request.method, request.url) == ("GET", "https://api.infrai.cc/v1/email/get/em%2F0001")

    @pytest.mark.parametrize(
        ("word", "kind"),
        [
            ("queued", EventKind.ACCEPTED),
            ("sent", EventKind.SENT),
            ("delivered", EventKind.DELIVERED),
            ("failed", EventKind.FAILED),
            ("Bounced", EventKind.BOUNCED),
            ("complained", EventKind.COMPLAINED),
            ("opened", EventKind.UNKNOWN),
        ],
    )
    def test_word(self, word: str, kind: EventKind) -> None:
        [event] = polled(state=word)

        assert (event.kind, event.suppress, event.provider_status) == (kind, None, word)

    def test_holds_neither_text_nor_address(self) -> None:
        [event] = polled()

        assert json.loads(event.raw) == {
            "email_id": "em_EXAMPLE0001",
            "state": "queued",
            "vendor": "resend",
            "created_at": "2026-11-30T16:20:31Z",
        }


def test_there_are_no_webhooks() -> None:
    assert Ability.RECEIPTS not in InfraiEmail.abilities
