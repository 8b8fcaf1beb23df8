"""What is odd about FCM: tokens of its own, codes in the details, and a payload of so many bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import jsonschema
import pytest

from providers.errors import (
    AccountError,
    AuthenticationFailed,
    InvalidRecipient,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RecipientUnavailable,
    TokenRefused,
    Unavailable,
)
from providers.fcm import Fcm
from providers.fcm.adapter import PAYLOAD_BYTES
from providers.messages import Push, Token
from providers.pushes import as_json
from providers.sandbox.pushing import claims_of, is_signed
from tests.providers.samples.base import ATTEMPT, NOW, answer, case, http_file, payload
from tests.providers.samples.fcm import CREDENTIALS, DEVICE, KEY, SAMPLE, fcm

MESSAGE = SAMPLE.message
SPEC = json.loads((SAMPLE.folder.parent.parent / "specs" / "fcm.v1.json").read_text())["schemas"]


def schema(name: str) -> dict[str, Any]:
    """A model of the discovery document, with nothing beside what it names."""
    model = SPEC[name]
    closed = {"additionalProperties": False} if "properties" in model else {}
    return {**closed, "type": "object", "properties": {word: _type(part) for word, part in model["properties"].items()}}


def _type(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        return schema(part["$ref"])
    if part["type"] == "object":
        of_texts = part.get("additionalProperties", {}).get("type") == "string"
        return {"type": "object", **({"additionalProperties": {"type": "string"}} if of_texts else {})}
    known: dict[str, Any] = {"type": part["type"]}
    return {**known, "enum": part["enum"]} if "enum" in part else known


def asked(message: Any = MESSAGE, adapter: Fcm | None = None) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((adapter or fcm()).send_request(message, ATTEMPT).body)
    return body["message"]


def refused(response: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        fcm().send_result(response)
    return caught.value


class TestSend:
    def test_is_what_the_discovery_document_describes(self) -> None:
        for adapter in (fcm(), fcm(data_only=True)):
            jsonschema.validate(asked(adapter=adapter), schema("Message"))

    def test_goes_to_the_project(self) -> None:
        request = fcm().send_request(MESSAGE, ATTEMPT)

        assert request.url == "https://fcm.googleapis.com/v1/projects/example-prod/messages:send"

    def test_says_it_to_every_platform(self) -> None:
        sent = asked()

        assert sent["token"] == DEVICE
        assert sent["notification"] == {"title": "Order shipped", "body": "Order 10482 is on its way"}
        assert sent["data"] == {"order": "10482", "receipt": "cmVjZWlwdA"}
        assert sent["android"] == {"priority": "HIGH", "ttl": "3600s", "notification": {"tag": ATTEMPT.message}}
        assert sent["apns"]["headers"] == {"apns-collapse-id": ATTEMPT.message, "apns-priority": "10"}
        assert sent["apns"]["payload"] == {"aps": {"mutable-content": 1}}
        assert sent["webpush"]["headers"] == {"TTL": "3600", "Topic": ATTEMPT.message, "Urgency": "high"}

    def test_without_a_receipt_says_less(self) -> None:
        sent = asked(replace(MESSAGE, push=Push(None)))

        assert (sent["notification"], sent["data"]) == ({"body": MESSAGE.text}, {})
        assert "payload" not in sent["apns"]
        assert (sent["android"]["priority"], sent["webpush"]["headers"]["Urgency"]) == ("NORMAL", "normal")

    def test_leaves_showing_to_the_app_if_told_to(self) -> None:
        sent = asked(adapter=fcm(data_only=True))

        assert "notification" not in sent
        assert "notification" not in sent["android"]
        assert sent["data"] == {
            "title": "Order shipped",
            "body": "Order 10482 is on its way",
            "tag": ATTEMPT.message,
            "order": "10482",
            "receipt": "cmVjZWlwdA",
        }
        assert sent["apns"]["payload"]["aps"] == {
            "mutable-content": 1,
            "alert": {"title": "Order shipped", "body": "Order 10482 is on its way"},
        }

    @pytest.mark.parametrize("data_only", [False, True])
    def test_push_4096_bytes_not_characters_are_what_it_fits_into(self, data_only: bool) -> None:
        given = json.loads(case("push-4096-bytes-not-characters/input.json"))

        for body in given["bodies"]:
            push = Push(given["title"], receipt="cmVjZWlwdA")
            sent = asked(replace(MESSAGE, text=body, push=push), fcm(data_only=data_only))
            shown = sent["data"] if data_only else sent["notification"]
            counted = {name: sent[name] for name in ("notification", "data") if name in sent}
            counted |= {"alert": sent["apns"]["payload"]["aps"]["alert"]} if data_only else {}  # iOS gets both
            assert len(as_json(counted)) <= PAYLOAD_BYTES
            assert shown["body"] == body or (shown["body"].endswith("ж…") and len(as_json(counted)) > PAYLOAD_BYTES - 8)
        assert shown["body"] != body


class TestToken:
    def test_is_asked_for_with_what_the_account_signs(self) -> None:
        request = fcm().token_request(NOW)

        form = parse_qs(request.body.decode())
        [assertion] = form["assertion"]
        header, claims = claims_of(assertion)
        assert request.url == "https://oauth2.googleapis.com/token"
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        assert (header["alg"], header["kid"]) == ("RS256", CREDENTIALS["private_key_id"])
        assert claims == {
            "iss": CREDENTIALS["client_email"],
            "scope": "https://www.googleapis.com/auth/firebase.messaging",
            "aud": "https://oauth2.googleapis.com/token",
            "iat": int(NOW.timestamp()),
            "exp": int(NOW.timestamp()) + 3600,
        }
        assert is_signed(assertion, KEY.public_key())

    def test_asked_for_by_way_of_a_base_url_is_signed_for_google(self) -> None:
        account = replace(fcm().account, base_url="https://proxy.example.com/fcm/")

        request = Fcm(account).token_request(NOW)

        assert request.url == "https://proxy.example.com/fcm/token"
        assert (
            claims_of(parse_qs(request.body.decode())["assertion"][0])[1]["aud"]
            == "https://oauth2.googleapis.com/token"
        )

    def test_is_read_and_carried(self) -> None:
        token = fcm().token_result(answer(200, payload("fcm/oauth-token-response.json")))

        assert token == Token("ya29.EXAMPLE", 3599.0)
        carried = fcm().with_token(fcm().send_request(MESSAGE, ATTEMPT), token)
        assert carried.headers["Authorization"] == "Bearer ya29.EXAMPLE"
        assert carried.parts == fcm().send_request(MESSAGE, ATTEMPT).parts

    def test_is_no_part_of_what_is_logged(self) -> None:
        assert "ya29" not in repr(Token("ya29.EXAMPLE", 3599.0))

    @pytest.mark.parametrize(
        ("response", "kind"),
        [
            (answer(400, payload("fcm/oauth-token-error-400.json")), AuthenticationFailed),
            (answer(429), RateLimited),
            (answer(500), Unavailable),
            (answer(503, '{"error": "invalid_grant"}'), Unavailable),
            (answer(400, "<html>"), Unavailable),
            (answer(200, "<html>"), Unavailable),
            (answer(200, {"access_token": "a\r\nb", "expires_in": 3599}), Unavailable),
        ],
    )
    def test_refused_means_that_nothing_was_sent(self, response: Any, kind: type[ProviderError]) -> None:
        with pytest.raises(ProviderError) as caught:
            fcm().token_result(response)

        assert type(caught.value) is kind

    def test_cannot_be_asked_for_with_what_is_no_key(self) -> None:
        account = replace(fcm().account, credentials={**CREDENTIALS, "private_key": "x"})

        with pytest.raises(AuthenticationFailed):
            Fcm(account).token_request(NOW)


class TestRefusals:
    @pytest.mark.parametrize(
        ("recorded", "status", "kind", "suppress", "is_doubtful"),
        [
            ("error-400-invalid-data.json", 400, InvalidRequest, None, False),
            ("error-400-invalid-token.json", 400, InvalidRecipient, "invalid", True),
            ("error-400-payload-too-large.json", 400, InvalidRequest, None, False),
            ("error-401-bad-oauth-token.json", 401, TokenRefused, None, False),
            ("error-401-third-party-auth.json", 401, AuthenticationFailed, None, False),
            ("error-403-sender-id-mismatch.json", 403, InvalidRecipient, "wrong_sender", True),
            ("error-404-unregistered.json", 404, RecipientUnavailable, "unregistered", False),
            ("error-500-internal.json", 500, OutcomeUnknown, None, False),
            ("error-502.html", 502, OutcomeUnknown, None, False),
        ],
    )
    def test_mean_this(
        self, recorded: str, status: int, kind: type[ProviderError], suppress: str | None, is_doubtful: bool
    ) -> None:
        error = refused(answer(status, payload(f"fcm/{recorded}")))

        assert type(error) is kind
        assert (error.suppress, error.is_doubtful) == (suppress, is_doubtful)

    @pytest.mark.parametrize(
        ("recorded", "kind", "seconds"),
        [("error-429-quota.http", RateLimited, 60.0), ("error-503-unavailable.http", Unavailable, 30.0)],
    )
    def test_say_how_long_to_wait(self, recorded: str, kind: type[ProviderError], seconds: float) -> None:
        error = refused(http_file(f"fcm/{recorded}", payload))

        assert (type(error), error.retry_after_seconds) == (kind, seconds)

    def test_without_a_wish_a_quota_costs_a_minute(self) -> None:
        body = {"error": {"status": "RESOURCE_EXHAUSTED"}}

        assert refused(answer(429, body)).retry_after_seconds == 60.0

    def test_of_a_project_that_is_not_there_blame_the_account(self) -> None:
        error = refused(answer(404, {"error": {"code": 404, "status": "NOT_FOUND"}}))

        assert isinstance(error, AccountError)
        assert (error.suppress, "project_id" in error.advice) == (None, True)

    def test_are_read_from_the_details_and_not_from_the_text(self) -> None:
        [_, named, _, _] = json.loads(case("push-fcm-invalid-argument-keeps-token/responses.json"))
        nameless = {**named["error"], "details": named["error"]["details"][:1]}

        assert type(refused(answer(400, {"error": named["error"]}))) is InvalidRecipient
        assert type(refused(answer(400, {"error": nameless}))) is InvalidRequest
