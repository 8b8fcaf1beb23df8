"""SendGrid: what its SDK believes, beside ours."""

from __future__ import annotations

import base64
from dataclasses import replace

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from sendgrid.helpers.eventwebhook import EventWebhook, EventWebhookHeader

from providers.messages import Headers, WebhookRequest
from tests.oracles.sdk import believes, changed, often, texts
from tests.providers.samples.sendgrid import PUBLIC_KEY, sendgrid, sendgrid_webhook, signed_with

SIGNATURE, TIMESTAMP = EventWebhookHeader.SIGNATURE, EventWebhookHeader.TIMESTAMP


def is_right(request: WebhookRequest) -> bool:
    try:
        return EventWebhook(PUBLIC_KEY).verify_signature(
            request.body.decode(), request.headers[SIGNATURE], request.headers[TIMESTAMP]
        )
    except ValueError:  # what is no base64
        return False


class TestSignature:
    @often
    @given(texts)
    def test_that_theirs_believes_is_believed(self, body):
        request = sendgrid_webhook(body.encode())

        assert is_right(request)
        assert believes(sendgrid(), request)

    @often
    @given(texts, st.data())
    def test_is_never_believed_where_theirs_does_not_believe_it(self, body, data):
        genuine = sendgrid_webhook(body.encode())
        name = data.draw(st.sampled_from(["body", SIGNATURE, TIMESTAMP]))
        if name == "body":
            request = replace(genuine, body=data.draw(changed(body)).encode())
        else:
            changes = {name: data.draw(changed(genuine.headers[name]))}
            request = replace(genuine, headers=Headers({**genuine.headers, **changes}))

        assert is_right(request) or not believes(sendgrid(), request)

    def test_by_another_key_is_believed_by_neither(self):
        other = ec.generate_private_key(ec.SECP256R1()).sign(b"1[]", ec.ECDSA(hashes.SHA256()))
        request = signed_with(base64.b64encode(other).decode(), "1", b"[]")

        assert not is_right(request)
        assert not believes(sendgrid(), request)
