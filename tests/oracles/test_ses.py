"""Amazon SES: what botocore checks, writes and signs, beside ours."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.exceptions import ParamValidationError
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.sdk import mails, seldom
from tests.oracles.test_aws import signed_by_botocore, signed_headers
from tests.providers.samples.aws_sms import SECRET_KEY
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.ses import SAMPLE, ses

REGION = "us-east-1"
times = st.integers(1_600_000_000, 2_200_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


@pytest.fixture(scope="module")
def client() -> tuple[Any, list[AWSRequest]]:
    """A client whose calls are kept and never leave the machine."""
    made: list[AWSRequest] = []

    def taken(request: AWSRequest, **_: Any) -> AWSResponse:
        made.append(request)
        return AWSResponse(request.url, 200, {}, SimpleNamespace(stream=lambda: iter([b'{"MessageId": "1"}'])))

    found = botocore.session.get_session().create_client(
        "sesv2", REGION, aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key=SECRET_KEY
    )
    found.meta.events.register("before-send", taken)
    return found, made


def in_their_words(body: bytes) -> dict[str, Any]:
    """What our call asks for as their client takes it: files as bytes."""
    asked: dict[str, Any] = json.loads(body)
    for file in asked["Content"]["Simple"].get("Attachments", []):
        file["RawContent"] = base64.b64decode(file["RawContent"], validate=True)
    return asked


class TestSend:
    @seldom
    @given(mails())
    def test_is_taken_by_their_client_which_asks_for_the_same(self, client, message):
        theirs, made = client
        request = ses(tenant="shop").send_request(message, ATTEMPT)

        theirs.send_email(**in_their_words(request.body))

        asked = made.pop()
        assert (request.method, request.url) == (asked.method, asked.url)
        assert json.loads(request.body) == json.loads(asked.body)
        assert request.headers["Content-Type"] == asked.headers["Content-Type"].decode()

    @pytest.mark.parametrize("change", [{"EmailTag": []}, {"EmailTags": [{"Name": "attempt"}]}, {"Destination": []}])
    def test_their_client_would_refuse_what_it_does_not_know(self, client, change):
        theirs, _ = client
        asked = in_their_words(ses().send_request(SAMPLE.message, ATTEMPT).body)

        with pytest.raises(ParamValidationError):
            theirs.send_email(**asked | change)

    @seldom
    @given(mails(), times, st.sampled_from(["", "token/+="]))
    def test_is_signed_as_theirs_is(self, client, message, now, session_token):
        adapter = ses(session_token=session_token)
        request = adapter.send_request(message, ATTEMPT)

        ours = adapter.authorize(request, now).headers["Authorization"]

        theirs, made = client
        theirs.send_email(**in_their_words(request.body))
        by_client = made.pop().headers["Authorization"].decode()
        assert set(signed_headers(ours).split(";")) - {"x-amz-security-token"} == set(
            signed_headers(by_client).split(";")
        )
        assert ours == signed_by_botocore(request, signed_headers(ours), now, session_token, service="ses")
