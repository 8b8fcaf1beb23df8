"""Twilio: what its SDK signs and sends, beside ours."""

from __future__ import annotations

from collections import defaultdict
from urllib.parse import parse_qsl, quote, urlencode

from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator, get_signature_algorithm
from twilio.rest import Client

from providers.messages import Channel, Headers, OutgoingMessage, WebhookRequest
from tests.oracles.sdk import believes, call, caught, changed, names, often, seconds, seldom, some_text, urls, values
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.twilio import AUTH_TOKEN, twilio

SIGNATURE, SETTINGS = "X-Twilio-Signature", "X-Twilio-Webhooks-Signature-Settings"
SHARED_KEY = "shared-key-0001"
TAKEN = {"sid": "SM00000000000000000000000000000001", "status": "queued", "num_segments": "1"}

pairs = st.lists(st.tuples(names, values), max_size=5)
algorithms = st.sampled_from(["", "key=k1,algorithm=HMAC_SHA256", "key=k1, algorithm=hmac_sha256", "key=k1"])
ACCOUNT = twilio(webhook_secret=SHARED_KEY)


class Form(defaultdict[str, list[str]]):
    """A form as the SDK takes it, with repeated names."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        super().__init__(list)
        for name, value in pairs:
            self[name].append(value)

    def getlist(self, name: str) -> list[str]:
        return self[name]


def validator(setting: str) -> RequestValidator:
    return RequestValidator(SHARED_KEY if setting else AUTH_TOKEN)


def request(
    url: str, body: bytes, signature: str, setting: str = "", content: str = "x-www-form-urlencoded"
) -> WebhookRequest:
    headers = {SIGNATURE: signature, "Content-Type": f"application/{content}"}
    return WebhookRequest("POST", url, Headers(headers | ({SETTINGS: setting} if setting else {})), body)


class TestSignatureOfAForm:
    @often
    @given(urls(), pairs, algorithms)
    def test_that_theirs_makes_is_believed(self, url, pairs, setting):
        signature = validator(setting).compute_signature(url, Form(pairs), get_signature_algorithm(setting))

        assert believes(ACCOUNT, request(url, urlencode(pairs).encode(), signature, setting))

    @often
    @given(urls(), pairs, algorithms, st.data())
    def test_is_believed_after_a_change_where_theirs_believes_it(self, url, pairs, setting, data):
        algorithm = get_signature_algorithm(setting)
        signature = validator(setting).compute_signature(url, Form(pairs), algorithm)
        body = urlencode(pairs)
        what = data.draw(st.sampled_from(["port", "url", "body", "signature", "order"]))
        if what == "port":
            url = url.replace(".com/", ".com:443/") if ".com/" in url else url.replace(":443", "").replace(":80/", "/")
        elif what == "url":
            url += quote(data.draw(names))
        elif what == "body":
            body = data.draw(changed(body).filter(lambda text: "%" not in text))
        elif what == "signature":
            signature = data.draw(changed(signature))
        else:
            body = "&".join(data.draw(st.permutations(body.split("&"))))
        form = Form(parse_qsl(body, keep_blank_values=True))

        theirs = validator(setting).validate(url, form, signature, algorithm)

        assert believes(ACCOUNT, request(url, body.encode(), signature, setting)) == theirs

    def test_by_an_algorithm_that_theirs_does_not_know_is_not_believed(self):
        signature = RequestValidator(SHARED_KEY).compute_signature("https://a.example/", {})
        setting = "key=k1,algorithm=HMAC_MD5"

        assert not RequestValidator(SHARED_KEY).validate(
            "https://a.example/", {}, signature, get_signature_algorithm(setting)
        )
        assert not believes(ACCOUNT, request("https://a.example/", b"", signature, setting))


class TestSignatureOfJson:
    @often
    @given(urls(), some_text, st.data())
    def test_is_believed_where_theirs_believes_it(self, url, text, data):
        theirs = RequestValidator(AUTH_TOKEN)
        url += ("&" if "?" in url else "?") + f"bodySHA256={theirs.compute_hash(text)}"
        signature = theirs.compute_signature(url, {})
        sent = data.draw(st.just(text) | changed(text))

        assert believes(ACCOUNT, request(url, sent.encode(), signature, content="json")) == theirs.validate(
            url, sent, signature
        )


class TestSend:
    @seldom
    @given(some_text, seconds)
    def test_asks_for_what_their_client_would(self, text, useful):
        ours = twilio()
        url = f"{ours.account.callback_url}?attempt={ATTEMPT.id}"
        with caught(TAKEN, 201) as made:
            Client(ours.account.credentials["account_sid"], AUTH_TOKEN).messages.create(
                to="+14155550100",
                from_="+15005550006",
                body=text,
                status_callback=url,
                **({} if useful is None else {"validity_period": useful}),
            )

        message = OutgoingMessage(Channel.SMS, "+14155550100", text, useful_seconds=useful)
        headers = ("Authorization", "Content-Type", "Accept")
        assert call(ours.send_request(message, ATTEMPT), *headers) == call(made[0], *headers)
