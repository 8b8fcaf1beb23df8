"""Telnyx: what its SDK believes and sends, beside ours.

Theirs refuses what is older than five minutes. How old a call is does not matter to us: one that is played again is a
repetition of a report on file.
"""

from __future__ import annotations

import base64
import time
from dataclasses import replace

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from telnyx import Telnyx as Client
from telnyx.lib.webhook_verification import WebhookVerificationError, verify_webhook_signature

from providers.messages import AttemptRef, Channel, Headers, OutgoingMessage, WebhookRequest
from tests.oracles.sdk import believes, call, changed, often, seldom, some_text, texts
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.telnyx import TELNYX_URL, TELNYX_VECTOR, telnyx, telnyx_webhook

PUBLIC_KEY = TELNYX_VECTOR["public_key_base64"]
SIGNATURE, TIMESTAMP = "telnyx-signature-ed25519", "telnyx-timestamp"


def is_right(request: WebhookRequest) -> bool:
    try:
        verify_webhook_signature(request.body, request.headers, PUBLIC_KEY)
    except WebhookVerificationError:
        return False
    return True


class TestSignature:
    @often
    @given(texts)
    def test_that_theirs_believes_is_believed(self, body):
        request = telnyx_webhook(body.encode(), str(int(time.time())))

        assert is_right(request)
        assert believes(telnyx(), request)

    @often
    @given(texts, st.data())
    def test_is_never_believed_where_theirs_does_not_believe_it(self, body, data):
        genuine = telnyx_webhook(body.encode(), str(int(time.time())))
        name = data.draw(st.sampled_from(["body", SIGNATURE, TIMESTAMP]))
        if name == "body":
            request = replace(genuine, body=data.draw(changed(body)).encode())
        else:
            changes = {name: data.draw(changed(genuine.headers[name]))}
            request = replace(genuine, headers=Headers({**genuine.headers, **changes}))

        assert is_right(request) or not believes(telnyx(), request)

    def test_by_another_key_is_believed_by_neither(self):
        genuine = telnyx_webhook(b"{}", str(int(time.time())))
        proof = Ed25519PrivateKey.generate().sign(f"{genuine.headers[TIMESTAMP]}|{{}}".encode())
        forged = Headers({**genuine.headers, SIGNATURE: base64.b64encode(proof).decode()})
        request = replace(genuine, headers=forged)

        assert not is_right(request)
        assert not believes(telnyx(), request)


class TestSend:
    @seldom
    @given(some_text)
    def test_asks_for_what_their_client_would(self, text):
        made: list[httpx.Request] = []
        taken = {"data": {"id": "40385f64-5717-4562-b3fc-2c963f66afa6"}}
        transport = httpx.MockTransport(lambda request: made.append(request) or httpx.Response(200, json=taken))
        Client(api_key="KEY0123456789", http_client=httpx.Client(transport=transport)).messages.send(
            to="+14155550100",
            from_="+15005550006",
            text=text,
            messaging_profile_id="83d2343b-553f-4c5f-b8c8-fd27004f94bf",
            webhook_url=TELNYX_URL,
            use_profile_webhooks=False,
            idempotency_key="key-7",
        )

        message = OutgoingMessage(Channel.SMS, "+14155550100", text)
        request = telnyx().send_request(message, AttemptRef(ATTEMPT.id, key="key-7"))
        headers = ("Authorization", "Accept", "Content-Type", "Idempotency-Key")
        assert call(request, *headers) == call(made[0], *headers)
