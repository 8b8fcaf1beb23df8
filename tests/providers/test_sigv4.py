"""Signature Version 4 against values that AWS has published, and against what botocore 1.44 made of the same requests."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import urlsplit

import pytest

from providers.aws.sigv4 import Signer, canonical_request
from providers.messages import HttpRequest
from tests.providers.samples.aws_sms import aws_sms
from tests.providers.samples.base import PAYLOADS

SIGNER = Signer("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service")
WHEN = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
UTF_8_FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
HOST = "https://example.amazonaws.com"
BOTOCORE = json.loads((PAYLOADS / "aws_sms" / "sigv4-botocore.json").read_text())


def signature(request: HttpRequest, signer: Signer = SIGNER, now: datetime = WHEN) -> str:
    return signer.sign(request, now).headers["Authorization"].partition("Signature=")[2]


class TestPublishedValues:
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html and the test suite aws-sig-v4-test-suite."""

    @pytest.mark.parametrize(
        ("request_", "expected"),
        [
            (  # get-vanilla
                HttpRequest("GET", f"{HOST}/", {}),
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (  # get-vanilla-query-order-key-case
                HttpRequest("GET", f"{HOST}/?Param2=value2&Param1=value1", {}),
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (  # post-vanilla
                HttpRequest("POST", f"{HOST}/", {}),
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            (  # post-x-www-form-urlencoded
                HttpRequest("POST", f"{HOST}/", FORM, b"Param1=value1"),
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ),
        ],
    )
    def test_suite(self, request_: HttpRequest, expected: str) -> None:
        assert signature(request_) == expected

    def test_the_example_of_the_guide(self) -> None:
        request = HttpRequest("GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", UTF_8_FORM)

        signed = replace(SIGNER, service="iam").sign(request, WHEN)

        assert signed.headers == {
            **UTF_8_FORM,
            "X-Amz-Date": "20150830T123600Z",
            "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-date, "
            "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
        }

    def test_the_canonical_request_of_the_guide(self) -> None:
        request = HttpRequest("GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", {})
        signed = {
            "content-type": UTF_8_FORM["Content-Type"],
            "host": "iam.amazonaws.com",
            "x-amz-date": "20150830T123600Z",
        }

        digest = hashlib.sha256(canonical_request(request, signed).encode()).hexdigest()

        assert digest == "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59"


class TestBotocore:
    """Its values for our own requests: made once and kept, so that no test needs it."""

    @pytest.mark.parametrize("vector", BOTOCORE, ids=[vector["name"] for vector in BOTOCORE])
    def test_signs_the_same(self, vector: dict[str, str]) -> None:
        request = HttpRequest(vector["method"], vector["url"], vector["headers"], vector["body"].encode())  # type: ignore[arg-type]
        signer = Signer("AKIDEXAMPLE", SIGNER.secret_access_key, vector["region"], "sms-voice", vector["session_token"])

        signed = signer.sign(request, datetime.fromisoformat(vector["now"]))

        assert signed.headers["Authorization"] == vector["authorization"]


class TestSigner:
    def test_leaves_the_rest_of_the_request_alone(self) -> None:
        request = HttpRequest("POST", f"{HOST}/", FORM, b"a=b")

        signed = SIGNER.sign(request, WHEN)

        assert (signed.method, signed.url, signed.body) == (request.method, request.url, request.body)
        assert request.headers == FORM
        assert set(signed.headers) == {"Content-Type", "X-Amz-Date", "Authorization"}

    def test_a_temporary_key_sends_and_signs_its_token(self) -> None:
        signed = replace(SIGNER, session_token="token").sign(HttpRequest("GET", f"{HOST}/", {}), WHEN)

        assert signed.headers["X-Amz-Security-Token"] == "token"
        assert "SignedHeaders=host;x-amz-date;x-amz-security-token," in signed.headers["Authorization"]

    def test_any_zone_will_do(self) -> None:
        elsewhere = WHEN.astimezone(timezone(timedelta(hours=14)))

        assert SIGNER.sign(HttpRequest("GET", f"{HOST}/", {}), elsewhere).headers["X-Amz-Date"] == "20150830T123600Z"

    @pytest.mark.parametrize(
        "changed",
        [
            HttpRequest("GET", f"{HOST}/", FORM, b"a=b"),
            HttpRequest("POST", "https://other.amazonaws.com/", FORM, b"a=b"),
            HttpRequest("POST", f"{HOST}:8443/", FORM, b"a=b"),
            HttpRequest("POST", f"{HOST}/x", FORM, b"a=b"),
            HttpRequest("POST", f"{HOST}/?x=", FORM, b"a=b"),
            HttpRequest("POST", f"{HOST}/", {"Content-Type": "text/plain"}, b"a=b"),
            HttpRequest("POST", f"{HOST}/", {**FORM, "X-Amz-Target": "x"}, b"a=b"),
            HttpRequest("POST", f"{HOST}/", FORM, b"a=c"),
        ],
    )
    def test_every_part_is_signed(self, changed: HttpRequest) -> None:
        assert signature(changed) != signature(HttpRequest("POST", f"{HOST}/", FORM, b"a=b"))

    def test_who_when_and_where_is_signed(self) -> None:
        request = HttpRequest("GET", f"{HOST}/", {})
        others = [replace(SIGNER, **{name: "x"}) for name in ("secret_access_key", "region", "service")]

        made = {signature(request, signer) for signer in (SIGNER, *others)}
        made |= {signature(request, now=WHEN + timedelta(seconds=1)), signature(request, now=WHEN + timedelta(days=1))}

        assert len(made) == 6

    def test_a_usual_port_is_not_part_of_the_host(self) -> None:
        assert signature(HttpRequest("GET", f"{HOST}:443/", {})) == signature(HttpRequest("GET", f"{HOST}/", {}))

    def test_secrets_stay_out_of_sight(self) -> None:
        signer = replace(SIGNER, session_token="a-token")

        assert SIGNER.secret_access_key not in repr(signer)
        assert "a-token" not in repr(signer)


def test_the_adapter_signs_for_its_region() -> None:
    adapter = aws_sms(region="eu-west-2")
    request = HttpRequest("POST", f"{adapter.base_url}/", {})

    signed = adapter.authorize(request, WHEN)

    assert urlsplit(signed.url).netloc == "sms-voice.eu-west-2.amazonaws.com"
    assert "Credential=AKIDEXAMPLE/20150830/eu-west-2/sms-voice/aws4_request," in signed.headers["Authorization"]
    assert "X-Amz-Security-Token" not in signed.headers
