"""Resend: what its SDK and Svix, who makes its webhooks, sign, believe and send, beside ours.

Theirs refuse what is older than five minutes. How old a call is does not matter to us: one that is played again is a
repetition of a report on file.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import resend as sdk
from hypothesis import given
from hypothesis import strategies as st
from svix.webhooks import Webhook, WebhookVerificationError

from providers.mails import one_line
from providers.messages import AttemptRef, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.oracles.sdk import believes, call, caught, changed, often, seldom, some_text
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.resend import RESEND_SECRET, resend

SIGNATURE = "svix-signature"
OTHER_SECRET = "whsec_b3RoZXIgc2VjcmV0"

json_texts = some_text.map(lambda text: json.dumps({"type": "email.sent", "data": {"email_id": text}}))


def request(body: str, secret: str = RESEND_SECRET) -> WebhookRequest:
    now = datetime.now(UTC)
    signature = Webhook(secret).sign("msg_1", now, body)
    headers = {"svix-id": "msg_1", "svix-timestamp": str(int(now.timestamp())), SIGNATURE: signature}
    return WebhookRequest("POST", "https://notify.example.com/webhooks/resend/", Headers(headers), body.encode())


def with_signature(request: WebhookRequest, signature: str) -> WebhookRequest:
    return replace(request, headers=Headers({**request.headers, SIGNATURE: signature}))


def is_right_by_svix(request: WebhookRequest) -> bool:
    try:
        Webhook(RESEND_SECRET).verify(request.body, dict(request.headers))
    except (WebhookVerificationError, ValueError):  # the second of a header or an encoding that is none
        return False
    return True


def is_right_by_resend(request: WebhookRequest) -> bool:
    named = {name: request.headers[f"svix-{name}"] for name in ("id", "timestamp", "signature")}
    options = {"payload": request.body.decode(), "headers": named, "webhook_secret": RESEND_SECRET}
    try:
        sdk.Webhooks.verify(options)
    except ValueError:
        return False
    return True


class TestSignature:
    @often
    @given(json_texts)
    def test_that_theirs_makes_is_believed(self, body):
        genuine = request(body)
        of_two_secrets = with_signature(
            genuine, f"{request(body, OTHER_SECRET).headers[SIGNATURE]} {genuine.headers[SIGNATURE]}"
        )

        for made in (genuine, of_two_secrets):
            assert is_right_by_svix(made)
            assert is_right_by_resend(made)
            assert believes(resend(), made)

    @often
    @given(json_texts, st.data())
    def test_is_never_believed_where_theirs_do_not_believe_it(self, body, data):
        genuine = request(body)
        name = data.draw(st.sampled_from(["body", *genuine.headers]))
        if name == "body":
            made = replace(genuine, body=data.draw(changed(body)).encode())
        else:
            headers = {**genuine.headers, name: data.draw(changed(genuine.headers[name]))}
            made = replace(genuine, headers=Headers(headers))

        believed = believes(resend(), made)

        assert not believed or is_right_by_svix(made)
        assert not believed or is_right_by_resend(made)

    @pytest.mark.parametrize("version", ["v1", "v1a", "v2"])
    def test_of_another_secret_or_version_is_not_believed(self, version):
        genuine, other = request("{}"), request("{}", OTHER_SECRET)
        signature = (other if version == "v1" else genuine).headers[SIGNATURE].partition(",")[2]
        made = with_signature(genuine, f"{version},{signature}")

        assert not is_right_by_svix(made)
        assert not believes(resend(), made)


class TestSend:
    @seldom
    @given(some_text, some_text, st.none() | some_text)
    def test_asks_for_what_their_client_would(self, subject, text, html):
        subject = one_line(subject)
        ours = resend()
        sdk.api_key = ours.account.credentials["api_key"]
        mail = {
            "from": ours.account.settings["from"],
            "to": ["ana.pereira@example.net"],
            "subject": subject,
            "text": text,
            "headers": {"X-Attempt-Id": ATTEMPT.id},
            "tags": [{"name": "attempt", "value": ATTEMPT.id}],
        }
        with caught({"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}) as made:
            sdk.Emails.send(mail | ({} if html is None else {"html": html}), {"idempotency_key": "key-7"})

        message = OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", text, subject, html)
        request = ours.send_request(message, AttemptRef(ATTEMPT.id, key="key-7"))
        headers = ("Authorization", "Accept", "Content-Type", "Idempotency-Key")
        assert call(request, *headers) == call(made[0], *headers)
