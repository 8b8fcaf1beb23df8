"""AWS: what botocore signs and sends, beside ours. It has no check of the calls of SNS."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, urlencode

import botocore.session
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from providers.aws.sigv4 import Signer
from providers.messages import Channel, HttpRequest, OutgoingMessage
from tests.oracles.sdk import often, seconds, seldom, some_text, texts
from tests.providers.samples.aws_sms import SECRET_KEY, aws_sms
from tests.providers.samples.base import ATTEMPT

KEY_ID, REGION, SERVICE = "AKIDEXAMPLE", "us-east-1", "sms-voice"
times = st.integers(1_600_000_000, 2_200_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))
paths = st.lists(texts.filter(lambda text: text not in ("", ".", "..")), max_size=3)
queries = st.lists(st.tuples(texts.filter(bool), texts), max_size=4)
in_headers = st.lists(st.sampled_from(["a", "0", ";", "=", " ", "  "]), min_size=1).map("".join)
hosts = st.sampled_from(["https://sms-voice.us-east-1.amazonaws.com", "http://127.0.0.1:8001", "https://[::1]:8443"])


def signed_by_botocore(
    request: HttpRequest, signed: str, now: datetime, session_token: str, service: str = SERVICE
) -> str:
    """The Authorization header that botocore makes for the same call, its time and these headers."""
    names = set(signed.split(";")) - {"host", "x-amz-date", "x-amz-security-token"}
    headers = {name: value for name, value in request.headers.items() if name.lower() in names}
    theirs = AWSRequest(request.method, request.url, headers, request.body)
    with patch("botocore.auth.get_current_datetime", lambda remove_tzinfo=True: now.replace(tzinfo=None)):
        SigV4Auth(Credentials(KEY_ID, SECRET_KEY, session_token or None), service, REGION).add_auth(theirs)
    return theirs.headers["Authorization"]


def signed_headers(authorization: str) -> str:
    return authorization.partition("SignedHeaders=")[2].partition(",")[0]


class TestSignature:
    @often
    @given(
        st.sampled_from(["GET", "POST"]),
        hosts,
        paths,
        queries,
        texts,
        in_headers,
        times,
        st.sampled_from(["", "token/+="]),
    )
    def test_is_theirs_for_any_call(self, method, host, path, query, body, header, now, session_token):
        url = f"{host}/{'/'.join(quote(part, safe='') for part in path)}"
        if query:
            url += f"?{urlencode(query, quote_via=quote, safe='')}"
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": header, "Accept": "application/json"}
        request = HttpRequest(method, url, headers, body.encode())

        signed = Signer(KEY_ID, SECRET_KEY, REGION, SERVICE, session_token).sign(request, now)

        ours = signed.headers["Authorization"]
        assert ours == signed_by_botocore(request, signed_headers(ours), now, session_token)


@pytest.fixture(scope="module")
def client() -> tuple[Any, list[AWSRequest]]:
    """A client whose calls are kept and never leave the machine."""
    made: list[AWSRequest] = []

    def taken(request: AWSRequest, **_: Any) -> AWSResponse:
        made.append(request)
        return AWSResponse(request.url, 200, {}, SimpleNamespace(stream=lambda: iter([b'{"MessageId": "1"}'])))

    found = botocore.session.get_session().create_client(
        "pinpoint-sms-voice-v2", REGION, aws_access_key_id=KEY_ID, aws_secret_access_key=SECRET_KEY
    )
    found.meta.events.register("before-send", taken)
    return found, made


class TestSend:
    @seldom
    @given(some_text, seconds, times)
    def test_asks_for_what_their_client_would_and_signs_the_same_headers(self, client, text, useful, now):
        theirs, made = client
        theirs.send_text_message(
            DestinationPhoneNumber="+14155550100",
            OriginationIdentity="+15005550006",
            MessageBody=text,
            MessageType="TRANSACTIONAL",
            ConfigurationSetName="notify",
            Context={"attempt": ATTEMPT.id},
            **({} if useful is None else {"TimeToLive": useful}),
        )

        asked = made.pop()
        request = aws_sms().send_request(
            OutgoingMessage(Channel.SMS, "+14155550100", text, useful_seconds=useful), ATTEMPT
        )
        assert (asked.method, asked.url, json.loads(asked.body)) == (
            request.method,
            request.url,
            json.loads(request.body),
        )
        headers = {name: text.decode() if isinstance(text, bytes) else text for name, text in asked.headers.items()}
        assert request.headers.items() <= headers.items()
        ours = aws_sms().authorize(request, now).headers["Authorization"]
        assert signed_headers(ours) == signed_headers(headers["Authorization"])
