"""Vonage, both of its APIs: what its SDK signs and sends, beside ours.

Where we are stricter than the SDK, and mean to be: a token of a callback must be for the body it came with. Where we are
less strict: how old a token is does not matter, since a report that is played again is already on file.
"""

from __future__ import annotations

import hashlib
import json
import time
from datetime import UTC, datetime
from urllib.parse import urlencode

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hypothesis import given
from hypothesis import strategies as st
from vonage_http_client import Auth, HttpClient
from vonage_jwt import JwtClient, VonageVerifyJwtError, verify_signature
from vonage_messages import Messages, Sms
from vonage_messages.models.sms import SmsOptions
from vonage_sms import Sms as SmsApi
from vonage_sms import SmsMessage

from providers.messages import Channel, Headers, OutgoingMessage, WebhookRequest
from tests.oracles.sdk import believes, call, caught, changed, names, often, seconds, seldom, some_text, values
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.vonage import (
    APPLICATION_ID,
    VONAGE_CREDENTIALS,
    VONAGE_SECRET,
    VONAGE_URL,
    private_key,
    vonage,
)
from tests.providers.samples.vonage_sms import SMS_CREDENTIALS, SMS_SECRET, SMS_URL, vonage_sms

NUMBER, SENDER = "14155550100", "15005550006"
METHODS = ["md5", "sha1", "sha256", "sha512"]


def basic_client() -> HttpClient:
    return HttpClient(Auth(api_key=VONAGE_CREDENTIALS["api_key"], api_secret=VONAGE_CREDENTIALS["api_secret"]))


def callback(token: str, body: str) -> WebhookRequest:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return WebhookRequest("POST", VONAGE_URL, Headers(headers), body.encode())


def claims(body: str) -> dict[str, object]:
    own = {
        "iss": "Vonage",
        "jti": "1",
        "api_key": "abcd1234",
        "payload_hash": hashlib.sha256(body.encode()).hexdigest(),
    }
    return own | {"iat": int(time.time()) - 1}


def is_right(token: str, secret: str = VONAGE_SECRET) -> bool:
    try:
        return verify_signature(token, secret)
    except VonageVerifyJwtError:
        return False


class TestTokenOfACallback:
    @often
    @given(some_text)
    def test_that_theirs_believes_is_believed_with_its_body(self, body):
        token = jwt.encode(claims(body), VONAGE_SECRET, "HS256")

        assert is_right(token)
        assert believes(vonage(), callback(token, body))
        assert not believes(vonage(), callback(token, f"{body} "))

    @often
    @given(some_text, st.data())
    def test_is_never_believed_where_theirs_does_not_believe_it(self, body, data):
        token = data.draw(changed(jwt.encode(claims(body), VONAGE_SECRET, "HS256")))

        assert not believes(vonage(), callback(token, body)) or is_right(token)

    @pytest.mark.filterwarnings("ignore:The HMAC key is")
    @pytest.mark.parametrize(
        ("secret", "algorithm"),
        [("another secret of some thirty-two letters", "HS256"), (VONAGE_SECRET, "HS512"), (None, "none")],
    )
    def test_by_another_secret_or_algorithm_is_believed_by_neither(self, secret, algorithm):
        token = jwt.encode(claims("{}"), secret, algorithm)

        assert not is_right(token)
        assert not believes(vonage(), callback(token, "{}"))


class TestOurToken:
    def test_says_what_theirs_says_and_is_right_by_the_same_key(self):
        credentials = {"application_id": APPLICATION_ID, "private_key": private_key()}
        ours, now = vonage(credentials), datetime.now(UTC)
        request = ours.send_request(OutgoingMessage(Channel.SMS, f"+{NUMBER}", "Table ready"), ATTEMPT)
        token = ours.authorize(request, now).headers["Authorization"].removeprefix("Bearer ")
        theirs = JwtClient(APPLICATION_ID, private_key()).generate_application_jwt().decode()
        public_key = load_pem_private_key(private_key().encode(), None).public_key()

        read, expected = (jwt.decode(text, public_key, ["RS256"]) for text in (token, theirs))

        assert jwt.get_unverified_header(token) == jwt.get_unverified_header(theirs)
        assert read.keys() == expected.keys()
        assert read["application_id"] == expected["application_id"]
        assert read["iat"] == int(now.timestamp()) < read["exp"] <= expected["exp"]


class TestSend:
    @seldom
    @given(some_text, seconds)
    def test_asks_messages_for_what_their_client_would(self, text, useful):
        with caught({"message_uuid": "aaaaaaaa-bbbb-cccc-dddd-0123456789ab"}, 202) as made:
            Messages(basic_client()).send(
                Sms(
                    to=NUMBER,
                    from_=SENDER,
                    text=text,
                    ttl=useful,
                    sms=SmsOptions(encoding_type="auto"),
                    client_ref=ATTEMPT.id,
                    webhook_url=VONAGE_URL,
                    webhook_version="v1",
                )
            )

        message = OutgoingMessage(Channel.SMS, f"+{NUMBER}", text, useful_seconds=useful)
        headers = ("Authorization", "Accept", "Content-Type")
        assert call(vonage().send_request(message, ATTEMPT), *headers) == call(made[0], *headers)

    @seldom
    @given(some_text, seconds)
    def test_asks_the_sms_api_for_what_their_client_would(self, text, useful):
        message = OutgoingMessage(Channel.SMS, f"+{NUMBER}", text, useful_seconds=useful)
        ours = call(vonage_sms().send_request(message, ATTEMPT), "Authorization", "Accept")
        with caught({"message-count": "1", "messages": [{"status": "0", "message-id": "1"}]}) as made:
            SmsApi(basic_client()).send(
                SmsMessage(
                    to=NUMBER,
                    from_=SENDER,
                    text=text,
                    client_ref=ours.fields["client-ref"],
                    type=ours.fields["type"],
                    ttl=useful and useful * 1000,
                    status_report_req=True,
                    callback=SMS_URL,
                )
            )

        theirs = call(made[0], "Authorization", "Accept")
        assert theirs.fields.pop("status-report-req") == "True"
        assert ours.fields.pop("status-report-req") == "1"  # as their documents have it
        assert ours == theirs


class TestSignedReceipt:
    @staticmethod
    def auth(method: str) -> Auth:
        return Auth(api_key=SMS_CREDENTIALS["api_key"], signature_secret=SMS_SECRET, signature_method=method)

    @often
    @given(
        st.sampled_from(METHODS),
        st.dictionaries(names, values, max_size=5),
        st.sampled_from(["GET", "form", "JSON"]),
        st.data(),
    )
    def test_is_believed_where_theirs_believes_it(self, method, fields, way, data):
        fields |= {"timestamp": "1768471203"}  # always there; without it theirs would take the time it is now
        signature = self.auth(method).sign_params(dict(fields))
        told = fields | {"sig": data.draw(st.sampled_from([signature, signature.upper()]) | changed(signature))}
        if data.draw(st.booleans()):
            told[data.draw(st.sampled_from(sorted(fields)))] = data.draw(values.filter(bool))
        query = urlencode(told)
        request = {
            "GET": WebhookRequest("GET", f"{SMS_URL}?{query}", Headers(), b""),
            "form": WebhookRequest("POST", SMS_URL, Headers(), query.encode()),
            "JSON": WebhookRequest("POST", SMS_URL, Headers(), json.dumps(told).encode()),
        }[way]

        theirs = self.auth(method).check_signature(dict(told))

        for setting in ({}, {"signature_method": f"hmac_{method}"}):
            assert believes(vonage_sms(**setting), request) == theirs
        other = METHODS[METHODS.index(method) - 1]
        assert not believes(vonage_sms(signature_method=f"hmac_{other}"), request)
