"""What every provider owes us; runs for each entry of the registry."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.base import Provider
from providers.errors import (
    AccountError,
    InvalidSignature,
    MalformedWebhook,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    RouteRejected,
    SenderNotAllowed,
    SenderNotRegistered,
    TransientError,
    UnknownRefusal,
    UnsupportedFeature,
)
from providers.messages import (
    Ability,
    Account,
    Attachment,
    Channel,
    DeliveryEvent,
    EventKind,
    FindResult,
    Headers,
    HttpResponse,
    Mail,
)
from providers.registry import PROVIDERS, connect
from tests.providers.samples import MORE_SAMPLES, SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, Sample, answer, case, http_file

ALL = [*(SAMPLES[name] for name in sorted(PROVIDERS)), *MORE_SAMPLES]
HTTP = [sample for sample in ALL if sample.is_http and sample.has_vendor]
BY_COUNTRY = [sample for sample in ALL if "senders" in sample.provider.setting_names]
REPORTING = [sample for sample in ALL if Ability.RECEIPTS in sample.provider.abilities]


def each(samples: Sequence[Sample]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("sample", samples, ids=[sample.folder.name for sample in samples])


every_provider, every_http_provider, every_reporting_provider = each(ALL), each(HTTP), each(REPORTING)


def sends(provider: Provider, response: HttpResponse) -> str:
    """Say in one word what an answer to a send means."""
    try:
        provider.send_result(response)
    except ProviderError as error:
        return type(error).__name__
    return "taken"


@every_provider
class TestDeclarations:
    def test_is_found_by_its_name(self, sample: Sample) -> None:
        assert type(connect(sample.name, sample.provider.account)) is type(sample.provider)
        assert connect(sample.name, sample.provider.account).name == sample.name

    def test_what_it_declares_is_what_it_can_do(self, sample: Sample) -> None:
        kind = type(sample.provider)  # what it shares with others of its vendor stands in a class between
        written = {name for name in dir(kind) if getattr(kind, name) is not getattr(Provider, name, None)}

        assert sample.can_find == ({"find_request", "find_result"} <= written)
        assert (Ability.STATUS in sample.provider.abilities) == ({"status_request", "status_result"} <= written)
        assert (Ability.LIST_STATUSES in sample.provider.abilities) == (
            {"statuses_request", "statuses_result"} <= written
        )
        assert (Ability.RECEIPTS in sample.provider.abilities) == ("parse_webhook" in written)
        assert (Ability.KEYS in sample.provider.abilities) == bool(sample.provider.key_life_seconds)
        assert sample.provider.wants_token == ({"token_request", "token_result", "with_token"} <= written)

    def test_is_constructed_with_the_credentials_it_names(self, sample: Sample) -> None:
        assert set(sample.provider.credential_names) <= set(sample.provider.account.credentials)
        assert set(sample.provider.account.settings) <= set(sample.provider.setting_names)


@each(BY_COUNTRY)
class TestSender:
    def sends(self, sample: Sample, **settings: Any) -> ProviderError | None:
        """Describe a call to the United States by an account with no other senders than these."""
        kept = {name: value for name, value in sample.provider.account.settings.items() if name != "from"}
        account = replace(sample.provider.account, settings={**kept, **settings})
        try:
            type(sample.provider)(account).send_request(replace(sample.message, country="US"), ATTEMPT)
        except ProviderError as error:
            return error
        return None

    def test_that_only_other_countries_have_is_missed_there_alone(self, sample: Sample) -> None:
        for_nobody, for_others = self.sends(sample), self.sends(sample, senders={"DE": "Landfall"})

        if for_nobody is None:  # the provider has one of its own
            assert for_others is None
            return
        assert type(for_nobody) is SenderNotAllowed
        assert type(for_others) is SenderNotRegistered
        assert for_others.advice == "Name a sender for US in the account's settings."

    def test_that_a_country_has_comes_before_that_of_all(self, sample: Sample) -> None:
        assert self.sends(sample, senders={"US": "+15005550006"}) is None
        assert self.sends(sample, **{"from": "+15005550006", "senders": {"DE": "Landfall"}}) is None


@every_http_provider
class TestSendRequest:
    def test_calls_the_vendor_and_nobody_else(self, sample: Sample) -> None:
        url = sample.provider.send_request(sample.message, ATTEMPT).url

        assert url.startswith((sample.vendor_url or sample.provider.default_base_url) + "/")
        assert urlsplit(url).scheme == "https"

    def test_calls_the_base_url_of_the_account(self, sample: Sample) -> None:
        account = replace(sample.provider.account, base_url="http://127.0.0.1:8001/")
        provider = type(sample.provider)(account)
        requests = [provider.send_request(sample.message, ATTEMPT)]
        if Ability.STATUS in provider.abilities:
            requests.append(provider.status_request("id/../?#"))
        if sample.can_find:
            requests.append(provider.find_request(sample.sent))
        if Ability.LIST_STATUSES in provider.abilities:
            requests.append(provider.statuses_request(NOW, NOW))

        for request in requests:
            assert request.url.startswith("http://127.0.0.1:8001/")
            assert urlsplit(request.url).netloc == "127.0.0.1:8001"
            assert "//" not in urlsplit(request.url).path
            assert request.url.isascii()

    def test_carries_our_attempt_id(self, sample: Sample) -> None:
        request = sample.provider.send_request(sample.message, ATTEMPT)

        if sample.is_keyed_by_message:
            assert ATTEMPT.message.encode() in request.body or ATTEMPT.message in request.headers.values()
        else:
            assert ATTEMPT.id.encode() in request.body

    def test_is_the_same_each_time(self, sample: Sample) -> None:
        assert sample.provider.send_request(sample.message, ATTEMPT) == sample.provider.send_request(
            sample.message, ATTEMPT
        )

    def test_an_idempotency_key_travels_with_the_same_bytes_each_time(self, sample: Sample) -> None:
        if Ability.KEYS not in sample.provider.abilities or sample.is_keyed_by_message:
            return
        attempt = replace(ATTEMPT, key="key-7")

        first = sample.provider.send_request(sample.message, attempt)
        later = sample.provider.send_request(replace(sample.message, useful_seconds=1), attempt)

        assert "key-7" in first.headers.values() or b"key-7" in first.body
        assert later == first

    def test_keeps_secrets_out_of_url_and_body(self, sample: Sample) -> None:
        request = sample.provider.send_request(sample.message, ATTEMPT)

        for secret in sample.secrets:
            assert secret not in request.url
            assert secret.encode() not in request.body

    def test_headers_can_be_written(self, sample: Sample) -> None:
        for value in sample.provider.send_request(sample.message, ATTEMPT).headers.values():
            assert value.isascii()
            assert value.isprintable()

    @given(text=st.text())
    def test_no_text_changes_who_gets_it_or_breaks_the_request(self, sample: Sample, text: str) -> None:
        hostile = replace(
            sample.message,
            text=text,
            subject=sample.message.subject and text,
            html=sample.message.html and text,
        )

        request = sample.provider.send_request(hostile, ATTEMPT)

        harmless = sample.provider.send_request(sample.message, ATTEMPT)
        assert (request.url, request.headers) == (harmless.url, harmless.headers)
        assert _addresses(request.body, sample) == _addresses(harmless.body, sample)
        assert request.body.decode() is not None

    def test_text_lone_surrogate_leaves_as_valid_utf_8(self, sample: Sample) -> None:
        half_an_emoji = json.loads(case("text-lone-surrogate/request.json"))["text"]

        body = sample.provider.send_request(replace(sample.message, text=half_an_emoji), ATTEMPT).body

        assert "�".encode() in body or b"%EF%BF%BD" in body or b"\\ufffd" in body

    @pytest.mark.parametrize("channel", Channel)
    def test_refuses_channels_it_does_not_have(self, sample: Sample, channel: Channel) -> None:
        if channel not in sample.provider.channels:
            with pytest.raises(UnsupportedFeature):
                sample.provider.send_request(replace(sample.message, channel=channel), ATTEMPT)


TEXTS = {"Body", "Subject", "TextBody", "HtmlBody", "subject", "text", "html", "body", "MessageBody", "message"}


def _addresses(body: bytes, sample: Sample) -> dict[str, Any]:
    fields = json.loads(body) if body.startswith(b"{") else dict(parse_qsl(body.decode(), strict_parsing=True))
    return {name: value for name, value in fields.items() if name not in TEXTS | sample.of_the_text}


UNSUBSCRIBE = "https://notify.example.com/unsubscribe/bWFya2V0aW5nOg-_x/"
PDF = Attachment("invoice.pdf", "application/pdf", b"%PDF-1.7 paid")
LOGO = Attachment("logo.png", "image/png", b"\x89PNG logo", content_id="logo")
MAIL = Mail("Ana Pereira", "help@example.com", (PDF,), UNSUBSCRIBE)
BREAKS = "\r\nBcc: evil@x.example\r\n\r\n"


@each([sample for sample in ALL if Channel.EMAIL in sample.provider.channels])
class TestMail:
    def test_carries_a_name_and_where_answers_go(self, sample: Sample) -> None:
        wire = _mailed(sample, _fit_for(sample))

        assert ("Ana Pereira" in wire) == ("to_name" not in sample.lacks)  # the one thing that may be left out
        assert ("help@example.com" in wire) == ("reply_to" not in sample.lacks)

    def test_says_what_it_cannot_carry(self, sample: Sample) -> None:
        for name in sample.lacks - {"to_name"}:
            with pytest.raises(UnsupportedFeature):
                _mailed(sample, Mail(**{name: getattr(MAIL, name)}))

    def test_can_be_unsubscribed_from_with_one_click(self, sample: Sample) -> None:
        if "unsubscribe_url" in sample.lacks:
            return
        wire = _mailed(sample, _fit_for(sample))

        assert f"<{UNSUBSCRIBE}>" in wire
        assert re.search(r"List-Unsubscribe-Post\W+(Value\W+)?List-Unsubscribe=One-Click", wire)
        assert "List-Unsubscribe" not in _mailed(sample, None)

    def test_carries_files_as_they_are(self, sample: Sample) -> None:
        if "attachments" in sample.lacks:
            return
        wire = _mailed(sample, _fit_for(sample))

        assert PDF.name in wire
        assert _holds(wire, PDF)

    def test_carries_pictures_of_the_html_or_says_that_it_cannot(self, sample: Sample) -> None:
        with suppress(UnsupportedFeature):
            wire = _mailed(sample, Mail(attachments=(LOGO,)))

            assert str(LOGO.content_id) in wire
            assert _holds(wire, LOGO)

    def test_names_no_other_address(self, sample: Sample) -> None:
        [ours] = re.findall(r"[\w.+-]+@[\w.-]+", sample.provider.account.settings["from"])

        mail = _fit_for(sample)
        named = set(re.findall(r"[\w.+-]+@[\w.-]+\w", _mailed(sample, mail)))

        others = {address for address in named if not address.startswith(ATTEMPT.id)}  # but a Message-ID
        assert others == {sample.message.to, ours} | ({mail.reply_to} - {None})

    @pytest.mark.parametrize(
        "mail",
        [
            Mail(f"Ana{BREAKS}"),
            Mail(reply_to=f"help@example.com{BREAKS}"),
            Mail(unsubscribe_url=UNSUBSCRIBE + BREAKS),
            Mail(unsubscribe_url=f"{UNSUBSCRIBE}>{BREAKS}"),
            Mail(attachments=(Attachment(f"a.pdf{BREAKS}", "application/pdf", b""),)),
            Mail(attachments=(Attachment("a.pdf", f"application/pdf{BREAKS}", b""),)),
            Mail(attachments=(Attachment("a.png", "image/png", b"", f"logo{BREAKS}"),)),
            Mail(attachments=(Attachment("a.png", "image/png", b"", f"logo>{BREAKS}"),)),
        ],
        ids=["name", "reply", "link", "closed link", "file", "type", "id", "closed id"],
    )
    def test_nothing_of_it_begins_another_header(self, sample: Sample, mail: Mail) -> None:
        with suppress(ProviderError):
            wire = _mailed(sample, mail)

            assert not re.search(r"(\n|\\n|%0A)Bcc", wire)

    def test_mail_unicode_local_part_is_never_an_encoded_word(self, sample: Sample) -> None:
        """A mailbox that it cannot carry is another account's, and no fault of the recipient's."""
        with suppress(RouteRejected, UnsupportedFeature):
            request = sample.provider.send_request(replace(sample.message, to="jörg@example.com"), ATTEMPT)

            assert "jörg@example.com".encode() in request.body

    def test_mail_unicode_local_part_is_no_encoded_word_where_answers_go(self, sample: Sample) -> None:
        with suppress(RouteRejected, UnsupportedFeature):
            assert "=?" not in _mailed(sample, Mail(reply_to="jörg@example.com"))

    def test_is_the_same_each_time(self, sample: Sample) -> None:
        assert _mailed(sample, _fit_for(sample)) == _mailed(sample, _fit_for(sample))


def _fit_for(sample: Sample) -> Mail:
    """All that a provider can carry of a mail, and a name."""
    return replace(MAIL, **{name: getattr(Mail(), name) for name in sample.lacks - {"to_name"}})


def _holds(wire: str, file: Attachment) -> bool:
    return base64.b64encode(file.content).decode() in wire or file.content.decode("latin-1") in wire


def _mailed(sample: Sample, mail: Mail | None) -> str:
    request = sample.provider.send_request(replace(sample.message, mail=mail), ATTEMPT)
    return request.body.decode("latin-1")


@every_http_provider
class TestSendResult:
    """The case http-html-instead-of-json, and what follows from it."""

    def test_html_503_is_unclear_unless_documented_as_not_processed(self, sample: Sample) -> None:
        expected = "Unavailable" if 503 in sample.not_processed else "OutcomeUnknown"

        assert sends(sample.provider, http_file("http-html-instead-of-json/a_503.http")) == expected

    @pytest.mark.parametrize("file", ["b_200", "d_200_empty"])
    def test_html_200_or_nothing_is_unclear(self, sample: Sample, file: str) -> None:
        assert sends(sample.provider, http_file(f"http-html-instead-of-json/{file}.http")) == "OutcomeUnknown"

    def test_html_502_is_unclear(self, sample: Sample) -> None:
        page = http_file("http-html-instead-of-json/a_503.http")

        assert sends(sample.provider, replace(page, status=502)) == "OutcomeUnknown"

    def test_html_403_is_a_fault_of_the_account(self, sample: Sample) -> None:
        page = http_file("http-html-instead-of-json/a_503.http")

        with pytest.raises(AccountError):
            sample.provider.send_result(replace(page, status=403))

    def test_json_called_html_is_read(self, sample: Sample) -> None:
        if sample.id_header:  # and no body
            return
        [recorded] = sample.folder.glob("send[-_]response[-_]20[012].json")
        body = recorded.read_bytes()

        assert sends(sample.provider, answer(200, body, content_type="text/html")) == "taken"

    def test_an_answer_without_a_code_is_judged_by_its_status(self, sample: Sample) -> None:
        judged = {status: sends(sample.provider, answer(status, "<html>")) for status in range(100, 600)}

        definite = set(range(400, 500)) - {408}  # what a server may say to a request it never read
        unclear = {status for status, error in judged.items() if error == OutcomeUnknown.__name__}
        assert unclear == set(range(100, 600)) - definite - sample.not_processed
        assert judged[429] == RateLimited.__name__
        assert judged[404] == judged[418] == UnknownRefusal.__name__

    @pytest.mark.parametrize("status", [500, 502, 504])
    def test_a_server_error_is_no_refusal_whatever_it_says(self, sample: Sample, status: int) -> None:
        for recorded in sample.folder.glob("error*"):
            with pytest.raises((OutcomeUnknown, TransientError)) as caught:
                sample.provider.send_result(answer(status, recorded.read_bytes()))
            assert caught.value.suppress is None

    @pytest.mark.parametrize("status", [429, 503])
    def test_retry_after_is_passed_on(self, sample: Sample, status: int) -> None:
        dated = {"Retry_After": "Fri, 15 Jan 2027 10:02:00 GMT", "Date": "Fri, 15 Jan 2027 10:00:00 GMT"}

        for headers, expected in (
            ({"Retry_After": "7"}, 7.0),
            (dated, 120.0),
            ({"Retry_After": dated["Retry_After"]}, None),
        ):
            with pytest.raises(ProviderError) as caught:
                sample.provider.send_result(answer(status, "", **headers))
            assert caught.value.retry_after_seconds == expected

    def test_texts_hold_neither_address_nor_body(self, sample: Sample) -> None:
        fields = {
            "message": f"{sample.message.to} {sample.message.text}",
            "Message": f"Invalid 'To' {sample.message.to}",
        }

        for status in (200, 400, 401, 422, 429, 500, 503):
            for code in (0, 300, 405, 406, 9999, 20003, 21211, 21610, 99999):
                body = json.dumps({**fields, "code": code, "ErrorCode": str(code)})
                with pytest.raises(ProviderError) as caught:
                    sample.provider.send_result(answer(status, body))
                for text in (str(caught.value), repr(caught.value), caught.value.detail, caught.value.code):
                    assert sample.message.to not in text
                    assert sample.message.text not in text

    def test_only_a_recipient_error_suppresses(self, sample: Sample) -> None:
        for status in (400, 401, 408, 422, 429, 500, 502, 503):
            for code in (*range(10), *range(300, 420), *range(21200, 21800), *range(30000, 30040)):
                with pytest.raises(ProviderError) as caught:
                    sample.provider.send_result(answer(status, {"code": code, "ErrorCode": code}))
                if caught.value.suppress:
                    assert "Recipient" in type(caught.value).__name__

    @pytest.mark.parametrize("id", json.loads(case("dlr-ids-that-look-like-numbers/input.json"))["accepted"])
    def test_dlr_ids_that_look_like_numbers_stay_as_they_are(self, sample: Sample, id: str) -> None:
        taken = sample.provider.send_result(sample.taken(id))

        assert taken.provider_message_id == id


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def nonsense(sample: Sample) -> st.SearchStrategy[bytes]:
    """Any bytes, and JSON made of the vendor's own words in the wrong places."""
    words = st.sampled_from(sample.fields)
    values = st.recursive(
        words | JSON,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=8),
        max_leaves=20,
    )
    return st.binary() | values.map(lambda value: json.dumps(value).encode()) | st.just(b"[" * 100_000)


@every_http_provider
class TestNonsense:
    @given(data=st.data())
    def test_as_the_answer_to_a_send_raises_provider_errors_only(self, sample: Sample, data: st.DataObject) -> None:
        body, status = data.draw(nonsense(sample)), data.draw(st.sampled_from([200, 201, 400, 401, 422, 429, 500, 503]))

        try:
            taken = sample.provider.send_result(answer(status, body))
        except ProviderError:
            return
        assert isinstance(taken.provider_message_id, str)
        assert _storable(taken.provider_message_id, taken.provider_status)

    @given(data=st.data())
    def test_as_the_answer_to_a_look_up_raises_nothing(self, sample: Sample, data: st.DataObject) -> None:
        response = answer(data.draw(st.sampled_from([200, 404, 500])), data.draw(nonsense(sample)))

        events = sample.provider.status_result(response) if Ability.STATUS in sample.provider.abilities else []
        if sample.can_find:
            found: FindResult = sample.provider.find_result(response, sample.sent)
            events += getattr(found, "events", ())

        if Ability.LIST_STATUSES in sample.provider.abilities:
            events += sample.provider.statuses_result(response).events

        assert all(_is_storable(event) for event in events)

    @given(page=st.text())
    def test_as_a_link_to_the_next_page_leads_nowhere_else(self, sample: Sample, page: str) -> None:
        for link in (page, f"https://evil.example/{page}", f"//evil.example?{page}"):
            for url in _pages(sample, link):
                assert url.startswith((sample.search_url or sample.provider.default_base_url) + "/")
                assert url.isascii()

    @given(data=st.data())
    def test_as_a_genuine_webhook_is_malformed_or_harmless(self, sample: Sample, data: st.DataObject) -> None:
        if sample not in REPORTING:
            return
        try:
            events = sample.provider.parse_webhook(sample.signed(data.draw(nonsense(sample))))
        except MalformedWebhook:
            return
        assert all(_is_storable(event) for event in events)

    @given(data=st.data(), proof=st.text(), url=st.text())
    def test_as_a_webhook_is_not_believed(self, sample: Sample, data: st.DataObject, proof: str, url: str) -> None:
        if sample not in REPORTING or not sample.provider.signs_webhooks:
            return
        genuine = sample.signed(data.draw(nonsense(sample)))
        if sample.proof_in_body:
            genuine = replace(genuine, body=genuine.body + b"&x=1")

        for forged in (
            replace(genuine, headers={}),
            replace(genuine, headers=Headers(dict.fromkeys(genuine.headers, proof))),
            replace(genuine, headers=dict.fromkeys(genuine.headers, proof), url=url),
            replace(genuine, headers={"Authorization": f"Basic {proof}", "X-Twilio-Signature": proof}),
        ):
            with pytest.raises(InvalidSignature):
                sample.provider.parse_webhook(forged)


@every_reporting_provider
class TestWebhooks:
    @pytest.mark.parametrize("method", ["POST", "GET"])
    def test_dlr_unknown_words_and_probes_an_empty_probe_is_not_believed(self, sample: Sample, method: str) -> None:
        empty = case("dlr-unknown-words-and-probes/empty.form")
        probe = replace(sample.signed(empty), method=method, headers=Headers(), body=empty)

        if not sample.provider.signs_webhooks:  # the product answers 200
            with suppress(MalformedWebhook):
                assert sample.provider.parse_webhook(probe) == []
            return
        with pytest.raises(InvalidSignature):
            sample.provider.parse_webhook(probe)

    def test_every_recorded_webhook_is_read(self, sample: Sample) -> None:
        folder = sample.folder
        recorded = [path.read_bytes().strip() for path in (*folder.glob("callback_*"), *folder.glob("webhook-[!a]*"))]
        assert recorded

        for body in recorded:
            call = sample.signed(body)
            [event] = sample.provider.parse_webhook(call)

            if sample.reports_in_lists:
                assert [json.loads(event.raw)] == json.loads(body)
            else:
                assert event.raw == (call.body or body)  # a GET has no body: the query is what came
            assert event.kind is not EventKind.UNKNOWN
            assert _is_storable(event)
            assert sample.provider.parse_webhook(sample.signed(body)) == [event]

    def test_only_a_delivery_is_taken_for_one(self, sample: Sample) -> None:
        folder = sample.folder
        for path in (*folder.glob("callback_*"), *folder.glob("webhook-[!a]*")):
            [event] = sample.provider.parse_webhook(sample.signed(path.read_bytes().strip()))

            delivered = re.search("(?<!un)delivered|delivery$|summary$", path.stem, re.IGNORECASE)
            assert (event.kind is EventKind.DELIVERED) == bool(delivered), path.name

    def test_without_secrets_nothing_is_believed(self, sample: Sample) -> None:
        account = sample.provider.account
        if not sample.provider.signs_webhooks:
            return

        for credentials in ({}, dict.fromkeys(account.credentials, "")):
            unset = type(sample.provider)(replace(account, credentials=credentials))
            with pytest.raises(InvalidSignature):
                unset.parse_webhook(sample.signed(b"{}"))


def _pages(sample: Sample, link: str) -> Iterator[str]:
    if sample.can_find:
        yield sample.provider.find_request(sample.sent, link).url
    if Ability.LIST_STATUSES in sample.provider.abilities:
        yield sample.provider.statuses_request(NOW, NOW, link).url


def _is_storable(event: DeliveryEvent) -> bool:
    words = (event.attempt, event.provider_message_id, event.provider_status, event.error_code)
    sizes = (len(event.provider_status) <= 100, len(event.error_code) <= 50, 0 < len(event.dedupe_key) <= 200)
    aware = event.occurred_at is None or event.occurred_at.tzinfo is not None
    return _storable(*words) and all(sizes) and aware and isinstance(event.raw, bytes)


def _storable(*words: str | None) -> bool:
    """Say whether PostgreSQL would take it."""
    return all(word is None or ("\0" not in word and word.encode() is not None and len(word) <= 200) for word in words)


def test_sms_and_email_are_sent_by_somebody() -> None:
    assert {channel for provider in PROVIDERS.values() for channel in provider.channels} == set(Channel)


def test_an_unlisted_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        connect("pigeon", Account("pigeon", {}))
