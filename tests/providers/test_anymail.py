"""Anymail: what is odd about many vendors behind one adapter. Three of them are in the contract test as well."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
from dataclasses import replace
from typing import Any

import pytest

from providers.anymail import Anymail
from providers.anymail.esps import ESPS
from providers.errors import (
    AccountError,
    AuthenticationFailed,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RecipientUnavailable,
    RouteRejected,
    SenderNotAllowed,
    UnknownRefusal,
    UnsupportedFeature,
)
from providers.messages import Ability, Attachment, AttemptRef, EventKind, Headers, Mail, WebhookRequest
from tests.providers.samples.anymail import KEY, MESSAGE, SIGNING_KEY, URL, anymail, basic_webhook, mailgun_webhook
from tests.providers.samples.base import ATTEMPT, answer, case, payload

KEYED = AttemptRef(ATTEMPT.id, key="key-7")
FULL = replace(
    MESSAGE,
    mail=Mail(
        "Änä, M.",
        "ops@faß.example",
        (Attachment("rechnung ü.pdf", "application/pdf", b"%PDF\r\r\n\n\0\xff"),),
        "https://notify.example.com/u/abc",
    ),
)
every_esp = pytest.mark.parametrize("esp", ESPS)


@pytest.fixture(autouse=True)
def without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here may look for one."""

    def refuse(*_: object) -> None:
        raise AssertionError("a name is looked up, or a connection made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@every_esp
class TestEveryVendor:
    def test_gets_a_request_that_is_the_same_each_time(self, esp: str) -> None:
        """From an adapter of its own, as after a restart, and with files: between those are boundaries drawn by chance."""
        first = anymail(esp).send_request(FULL, KEYED)
        again = anymail(esp).send_request(replace(FULL, useful_seconds=1), KEYED)

        assert again == first
        assert first.url.startswith("https://")

    def test_gets_all_that_a_mail_has(self, esp: str) -> None:
        body = anymail(esp).send_request(FULL, KEYED).body.decode(errors="replace")

        for part in (ATTEMPT.id, "Your order", "Shipped.", "ops@xn--fa-hia.example", "rechnung"):
            assert part in body
        assert "https://notify.example.com/u/abc" in body
        assert "List-Unsubscribe=One-Click" in body

    def test_gets_one_recipient(self, esp: str) -> None:
        body = anymail(esp).send_request(FULL, KEYED).body.decode(errors="replace")

        assert body.count(MESSAGE.to) == (
            2 if esp in ("sparkpost", "unisender_go") else 1
        )  # with a header for the name
        with pytest.raises(UnsupportedFeature):
            anymail(esp).send_request(replace(MESSAGE, to="a@b.example,c@d.example"), ATTEMPT)

    def test_gets_no_domain_but_the_recipients(self, esp: str) -> None:
        body = anymail(esp).send_request(replace(MESSAGE, to="ana@straße.example"), ATTEMPT).body

        assert b"xn--strae-oqa.example" in body
        assert b"strasse" not in body

    def test_is_not_asked_for_letters_before_the_at(self, esp: str) -> None:
        with pytest.raises(RouteRejected):
            anymail(esp).send_request(replace(MESSAGE, to="jörg@example.com"), ATTEMPT)

    def test_without_its_secrets_is_the_accounts_fault(self, esp: str) -> None:
        account = replace(anymail(esp).account, credentials={}, base_url=None)

        with pytest.raises(AccountError, match="credentials or options"):  # and not Django's settings
            Anymail(account).send_request(MESSAGE, ATTEMPT)

    def test_is_not_believed_without_its_proof(self, esp: str) -> None:
        account = anymail(esp).account
        wrong = {name: f"{value}x" for name, value in account.credentials.items()}
        body = b'{"auth": "x", "event": "delivered", "signature": {"token": "x", "timestamp": "1", "signature": "x"}}'
        proofs = ("Authorization", "Signature", "Mailtrap-Signature", "X-Mandrill-Signature", "X-Postal-Signature")

        for credentials in (account.credentials, wrong, {"webhook_key": "no key"}):
            for kind in ("application/json", "application/x-www-form-urlencoded"):
                headers = Headers({"Content-Type": kind, **dict.fromkeys(proofs, "x")})
                with pytest.raises(InvalidSignature):
                    Anymail(replace(account, credentials=credentials)).parse_webhook(
                        WebhookRequest("POST", URL, headers, body)
                    )

    def test_answers_nonsense_and_nothing_is_known(self, esp: str) -> None:
        for body in (b"", b"{}", b"[]", b"null", b"<html>", b'{"id": 7}', b'{"message": {}}'):
            with pytest.raises(ProviderError) as caught:
                anymail(esp).send_result(answer(200, body))
            assert not isinstance(caught.value, InvalidRecipient)
            if esp not in ("brevo", "sparkpost"):
                assert isinstance(caught.value, OutcomeUnknown)


class TestVendorsThatAreNot:
    @pytest.mark.parametrize("esp", ["amazon_ses", "sendgrid", "postmark", "Mailgun", None, ["mailgun"]])
    def test_are_named_as_the_accounts_fault(self, esp: Any) -> None:
        account = anymail("mailgun").account
        stranger = Anymail(replace(account, settings={**account.settings, "esp": esp}))

        with pytest.raises(AccountError, match="mailgun"):
            stranger.send_request(MESSAGE, ATTEMPT)
        with pytest.raises(InvalidSignature):
            stranger.parse_webhook(mailgun_webhook(b"{}"))

    def test_without_a_sender_nobody_writes(self) -> None:
        with pytest.raises(SenderNotAllowed):
            anymail("brevo", **{"from": ""}).send_request(MESSAGE, ATTEMPT)


class TestAbilities:
    @every_esp
    def test_are_the_vendors(self, esp: str) -> None:
        abilities = anymail(esp).abilities

        assert (Ability.KEYS in abilities) == (esp == "brevo")
        assert (Ability.RECEIPTS in abilities) == (esp != "scaleway")

    def test_a_key_of_brevos_is_not_trusted_to_its_last_minute(self) -> None:
        assert 0 < anymail("brevo").key_life_seconds <= 14 * 60
        assert json.loads(anymail("brevo").send_request(MESSAGE, KEYED).body)["headers"]["idempotencyKey"] == "key-7"

    def test_without_a_key_none_is_made_up(self) -> None:
        assert b"idempotencyKey" not in anymail("brevo").send_request(MESSAGE, ATTEMPT).body


class TestRequest:
    def test_options_are_what_anymail_calls_them(self) -> None:
        request = anymail("mailgun", options={"sender_domain": "mg.example.com"}).send_request(MESSAGE, ATTEMPT)

        assert request.url == "https://api.mailgun.net/v3/mg.example.com/messages"

    def test_pictures_where_a_vendor_shows_none_are_refused(self) -> None:
        picture = Attachment("logo.png", "image/png", b"", content_id="logo")
        message = replace(MESSAGE, mail=Mail(attachments=(picture,)))

        with pytest.raises(UnsupportedFeature):
            anymail("brevo").send_request(message, ATTEMPT)
        assert b'filename="logo"' in anymail("mailgun").send_request(message, ATTEMPT).body

    def test_files_arrive_as_they_are(self) -> None:
        request = anymail("mailgun").send_request(FULL, ATTEMPT)

        assert b"%PDF\r\r\n\n\0\xff" in request.body
        boundary = request.headers["Content-Type"].partition("boundary=")[2].encode()
        assert request.body.count(b"--" + boundary) > 5
        assert request.body.endswith(b"--" + boundary + b"--\r\n")

    def test_the_key_is_shown_to_nobody_else(self) -> None:
        request = anymail("brevo").send_request(MESSAGE, ATTEMPT)

        assert request.headers["api-key"] == KEY
        assert KEY.encode() not in request.body


class TestRefusal:
    @pytest.mark.parametrize(
        ("esp", "status", "recorded", "error"),
        [
            ("brevo", 401, "anymail_brevo/error-401.json", AuthenticationFailed),
            ("brevo", 402, "anymail_brevo/error-402.json", InsufficientBalance),
            ("mailgun", 401, "anymail_mailgun/error-401.json", AuthenticationFailed),
            ("mailgun", 400, "anymail_mailgun/error-400-to.json", UnknownRefusal),
            ("mailjet", 401, "anymail_mailjet/error-401.json", AuthenticationFailed),
        ],
    )
    def test_recorded(self, esp: str, status: int, recorded: str, error: type[ProviderError]) -> None:
        with pytest.raises(error):
            anymail(esp).send_result(answer(status, payload(recorded)))

    @pytest.mark.parametrize("esp", ["brevo", "mailgun", "mailjet"])
    def test_of_a_mail_that_is_too_large_is_about_the_mail(self, esp: str) -> None:
        with pytest.raises(InvalidRequest):
            anymail(esp).send_result(answer(413, "<html>"))

    def test_of_a_repeated_key_leaves_unknown_what_became_of_the_first(self) -> None:
        with pytest.raises(OutcomeUnknown):
            anymail("brevo").send_result(answer(400, {"code": "duplicate_request", "message": "…"}))

    @pytest.mark.parametrize(("status", "error"), [("invalid", InvalidRecipient), ("rejected", RecipientUnavailable)])
    def test_within_a_yes(self, status: str, error: type[ProviderError]) -> None:
        body = json.dumps([{"email": MESSAGE.to, "status": status, "_id": "1", "reject_reason": "hard-bounce"}])

        with pytest.raises(error) as caught:
            anymail("mandrill").send_result(answer(200, body))
        assert caught.value.suppress is None


class TestReport:
    @pytest.mark.parametrize(
        ("recorded", "kind", "suppress", "code"),
        [
            ("mailgun/webhook-delivered", EventKind.DELIVERED, None, ""),
            ("mailgun/webhook-failed-permanent", EventKind.BOUNCED, "hard_bounce", "5.1.1"),
            ("mailgun/webhook-failed-temporary", EventKind.SENT, None, "4.2.2"),
            ("mailgun/webhook-failed-policy", EventKind.BOUNCED, None, "5.7.1"),
            ("mailgun/webhook-complained", EventKind.COMPLAINED, "complaint", ""),
            ("mailgun/webhook-unsubscribed", EventKind.OPTED_OUT, None, ""),
            ("brevo/webhook-delivered", EventKind.DELIVERED, None, ""),
            ("brevo/webhook-hard-bounce", EventKind.BOUNCED, "hard_bounce", "5.1.1"),
            ("brevo/webhook-soft-bounce", EventKind.NOT_REACHED, None, "4.2.2"),
            ("brevo/webhook-deferred", EventKind.SENT, None, ""),
            ("brevo/webhook-blocked", EventKind.FAILED, None, "blocked"),
            ("brevo/webhook-spam", EventKind.COMPLAINED, "complaint", "spam"),
            ("mailjet/webhook-delivered", EventKind.DELIVERED, None, ""),
            ("mailjet/webhook-bounce-hard", EventKind.BOUNCED, "hard_bounce", "bounced"),
            ("mailjet/webhook-bounce-soft", EventKind.NOT_REACHED, None, "bounced"),
            ("mailjet/webhook-spam", EventKind.COMPLAINED, "complaint", ""),
        ],
    )
    def test_recorded(self, recorded: str, kind: EventKind, suppress: str | None, code: str) -> None:
        esp = recorded.partition("/")[0]
        call = (mailgun_webhook if esp == "mailgun" else basic_webhook)(payload(f"anymail_{recorded}.json"))

        [event] = anymail(esp).parse_webhook(call)

        assert (event.kind, event.suppress, event.error_code) == (kind, suppress, code)
        assert event.attempt == ATTEMPT.id
        assert event.provider_message_id is not None
        assert event.occurred_at is not None

    def test_carries_the_id_that_the_send_was_given(self) -> None:
        for esp, sign in (("mailgun", mailgun_webhook), ("brevo", basic_webhook), ("mailjet", basic_webhook)):
            [taken] = (payload(f"anymail_{esp}/{name}") for name in _responses(esp))

            [event] = anymail(esp).parse_webhook(sign(payload(f"anymail_{esp}/webhook-delivered.json")))

            assert anymail(esp).send_result(answer(200, taken)).provider_message_id == event.provider_message_id

    def test_of_a_full_mailbox_is_no_proof_against_the_address(self) -> None:
        """Mailgun ends what it tried for long as a permanent failure."""
        report = json.loads(payload("anymail_mailgun/webhook-failed-permanent.json"))
        report["event-data"]["delivery-status"]["message"] = "5.2.2 The email account is over quota"

        [event] = anymail("mailgun").parse_webhook(mailgun_webhook(report))

        assert (event.kind, event.suppress) == (EventKind.NOT_REACHED, None)

    def test_repeated_is_the_same_and_another_is_not(self) -> None:
        delivered, bounced = (
            json.loads(payload(f"anymail_brevo/webhook-{name}.json")) for name in ("delivered", "hard-bounce")
        )
        later = {**delivered, "ts_epoch": delivered["ts_epoch"] + 1}

        keys = [
            event.dedupe_key
            for report in (delivered, delivered, bounced, later)
            for event in anymail("brevo").parse_webhook(basic_webhook(report))
        ]

        assert keys[0] == keys[1]
        assert len(set(keys)) == 3

    def test_several_in_one_call_are_kept_each_by_itself(self) -> None:
        reports = [
            json.loads(payload(f"anymail_mailjet/webhook-{name}.json")) for name in ("delivered", "bounce-hard", "spam")
        ]
        stranger = {"event": "open", "time": 1, "email": "x@example.net"}

        events = anymail("mailjet").parse_webhook(basic_webhook(json.dumps([*reports, stranger]).encode()))

        assert [event.kind for event in events] == [EventKind.DELIVERED, EventKind.BOUNCED, EventKind.COMPLAINED]
        assert [json.loads(event.raw) for event in events] == reports

    def test_that_names_no_message_cannot_be_read(self) -> None:
        with pytest.raises(MalformedWebhook):
            anymail("brevo").parse_webhook(basic_webhook({"event": "delivered", "email": "x@example.net"}))

    def test_dlr_metadata_overwrites_event(self) -> None:
        """What a mail carries is under one name of ours; whatever else is there is not looked at."""
        metadata = json.loads(case("dlr-metadata-overwrites-event/request.json"))["metadata"]
        mailgun = json.loads(payload("anymail_mailgun/webhook-delivered.json"))
        mailgun["event-data"]["user-variables"] |= metadata
        brevo = json.loads(payload("anymail_brevo/webhook-delivered.json"))
        brevo["X-Mailin-custom"] = json.dumps({**metadata, "attempt": ATTEMPT.id})

        for esp, call in (("mailgun", mailgun_webhook(mailgun)), ("brevo", basic_webhook(brevo))):
            [event] = anymail(esp).parse_webhook(call)

            assert (event.kind, event.attempt) == (EventKind.DELIVERED, ATTEMPT.id)

    @pytest.mark.parametrize("attempt", ["someone-else", "../1", "", 7, None, ATTEMPT.id + "x"])
    def test_only_an_attempt_of_ours_is_one(self, attempt: Any) -> None:
        report = json.loads(payload("anymail_brevo/webhook-delivered.json"))
        report["X-Mailin-custom"] = json.dumps({"attempt": attempt})

        [event] = anymail("brevo").parse_webhook(basic_webhook(report))

        assert event.attempt is None

    def test_in_mailguns_old_form_is_not_read(self) -> None:
        """There a mail's variables are fields beside the report's own."""
        proof = json.loads(mailgun_webhook(b"{}").body)["signature"]
        body = "&".join(f"{name}={value}" for name, value in {**proof, "event": "delivered"}.items()).encode()
        form = Headers({"Content-Type": "application/x-www-form-urlencoded"})

        with pytest.raises(MalformedWebhook):
            anymail("mailgun").parse_webhook(WebhookRequest("POST", URL, form, body))

    def test_by_tag_where_nothing_else_is_carried(self) -> None:
        [tag] = json.loads(anymail("mailersend").send_request(MESSAGE, ATTEMPT).body)["tags"]
        data = {
            "type": "hard_bounced",
            "email": {"message": {"id": "m-1"}, "tags": [tag]},
            "morph": {"reason": "5.1.1 x"},
        }
        body = json.dumps(
            {"type": "activity.hard_bounced", "created_at": "2027-01-15T10:00:00Z", "data": data}
        ).encode()
        proof = {"Signature": hmac.new(SIGNING_KEY.encode(), body, hashlib.sha256).hexdigest()}

        [event] = anymail("mailersend").parse_webhook(WebhookRequest("POST", URL, Headers(proof), body))

        assert (event.kind, event.attempt) == (EventKind.BOUNCED, ATTEMPT.id)


def _responses(esp: str) -> list[str]:
    return {"mailgun": ["send-response-200.json"], "brevo": ["send_response_201.json"]}.get(
        esp, ["send_response_200.json"]
    )
