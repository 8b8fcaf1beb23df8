"""SMTP: what mails look like, and what the answers of mail servers mean."""

from __future__ import annotations

import email
import email.header
import email.policy
import json
from dataclasses import replace
from email.message import EmailMessage
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import errors
from providers.errors import (
    AccountError,
    AuthenticationFailed,
    InvalidRecipient,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RouteRejected,
    SenderNotAllowed,
    Unavailable,
    UnsupportedFeature,
)
from providers.messages import (
    Attachment,
    AttemptRef,
    Mail,
    MailRequest,
    MailResponse,
    MailSecurity,
    MailServer,
    MailStep,
    SendResult,
)
from tests.providers.samples.base import ATTEMPT, case
from tests.providers.samples.smtp import PASSWORD, SAMPLE, smtp

MESSAGE = SAMPLE.message
FULL = Mail(
    to_name='Änä "Ana" Pereira, M.',
    reply_to="ops@faß.example",
    attachments=(Attachment("rechnung ü.pdf", "application/pdf", b"%PDF\r\r\n\n.\n\0\xff"),),
    unsubscribe_url="https://notify.example.com/u/abc?x=1&y=2",
)


def written(**changes: Any) -> MailRequest:
    return smtp().send_request(replace(MESSAGE, **changes), ATTEMPT)


def read(request: MailRequest) -> EmailMessage:
    return cast(EmailMessage, email.message_from_bytes(request.body, policy=email.policy.SMTPUTF8))


def part(mail: EmailMessage, kind: str) -> str:
    found = mail.get_body((kind,))
    assert found is not None
    return str(found.get_content())


def header(request: MailRequest) -> bytes:
    return request.body.partition(b"\r\n\r\n")[0]


class TestMail:
    def test_says_who_writes_to_whom_about_what(self) -> None:
        mail = read(written())

        assert (mail["From"], mail["To"]) == ("Notify <no-reply@notify.example.com>", MESSAGE.to)
        assert mail["Subject"] == "Your order"
        assert mail["X-Attempt-Id"] == ATTEMPT.id
        assert mail["Message-ID"] == f"<{ATTEMPT.id}@notify.example.com>"
        assert (part(mail, "plain"), part(mail, "html")) == ("Shipped.", "<p>Shipped.</p>")

    def test_carries_all_that_a_mail_has(self) -> None:
        mail = read(written(mail=FULL))

        [to] = mail["To"].addresses
        assert (to.display_name, to.addr_spec) == (FULL.to_name, MESSAGE.to)
        assert mail["Reply-To"] == "ops@xn--fa-hia.example"
        assert mail["List-Unsubscribe"] == "<https://notify.example.com/u/abc?x=1&y=2>"
        assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        [attached] = mail.iter_attachments()
        assert (attached.get_filename(), attached.get_content_type()) == ("rechnung ü.pdf", "application/pdf")
        assert attached.get_content() == FULL.attachments[0].content

    @pytest.mark.parametrize("name", ["Александра Константиновна Преображенская", "é" * 100, "🎉" * 100])
    def test_a_long_name_is_encoded_in_words_that_are_allowed(self, name: str) -> None:
        request = written(mail=Mail(to_name=name))

        to = email.message_from_bytes(request.body)["To"]  # the newer reader puts a blank between two words
        assert str(email.header.make_header(email.header.decode_header(to))) == f"{name} <{MESSAGE.to}>"
        assert max(map(len, header(request).split())) <= 75
        assert max(map(len, header(request).split(b"\r\n"))) <= 80 + len(MESSAGE.to)

    def test_a_picture_of_the_html_is_related_to_it(self) -> None:
        picture = Attachment("logo.png", "image/png", b"\x89PNG", content_id="logo@notify.example.com")

        mail = read(written(html='<img src="cid:logo@notify.example.com">', mail=Mail(attachments=(picture,))))

        assert mail.get_content_type() == "multipart/related"
        *_, shown = mail.walk()
        assert (shown["Content-ID"], shown.get_content_disposition()) == ("<logo@notify.example.com>", "inline")

    def test_a_file_beside_a_picture_is_not_hidden_among_the_pictures(self) -> None:
        picture = Attachment("logo.png", "image/png", b"\x89PNG", content_id="logo@notify.example.com")

        mail = read(written(mail=replace(FULL, attachments=(picture, *FULL.attachments))))

        assert mail.get_content_type() == "multipart/mixed"
        assert [file.get_content_disposition() for file in mail.iter_attachments()] == ["inline", "attachment"]

    def test_has_no_date_yet(self) -> None:
        assert "Date" not in read(written())

    def test_is_the_same_to_the_byte_each_time(self) -> None:
        first = smtp().send_request(replace(MESSAGE, mail=FULL), ATTEMPT)
        again = smtp().send_request(replace(MESSAGE, mail=FULL, useful_seconds=1), ATTEMPT)

        assert (again, again.parts) == (first, first.parts)

    def test_of_another_attempt_has_another_boundary(self) -> None:
        other = smtp().send_request(MESSAGE, AttemptRef(f"{ATTEMPT.message}-2"))

        assert read(other).get_boundary() != read(written()).get_boundary()

    def test_secrets_and_mailboxes_are_shown_nowhere(self) -> None:
        request = written()

        assert b"".join(request.parts).count(PASSWORD.encode()) == 0
        for secret in (PASSWORD, "relay-user", MESSAGE.to, "Shipped"):
            assert secret not in repr(request)

    @given(text=st.text(), subject=st.text(), name=st.text())
    def test_no_text_ends_a_line_or_adds_one_to_the_header(self, text: str, subject: str, name: str) -> None:
        request = written(text=text, html=text, subject=subject, mail=Mail(to_name=name))

        assert request.body.count(b"\r\n") == request.body.count(b"\n") == request.body.count(b"\r")
        assert max(map(len, request.body.split(b"\r\n"))) <= 998
        assert {name.lower() for name in read(request)} == {name.lower() for name in read(written())}
        assert request.body.isascii()


class TestMailLineWithOneDot:
    def test_lines_stay_lines(self) -> None:
        text = case("mail-line-with-one-dot/body.txt").decode()

        assert part(read(written(text=text)), "plain").split("\r\n") == text.split("\n")

    def test_smuggled_line_ends_are_none(self) -> None:
        text = case("mail-line-with-one-dot/body_smuggle.bin").decode()

        body = written(text=text, html=None).body

        assert body.count(b"\r\n") == body.count(b"\n") == body.count(b"\r")
        assert part(read(written(text=text)), "plain").splitlines() == text.replace("\r", "").splitlines()


class TestMailRecipientsSeeEachOther:
    def test_each_mail_knows_one(self) -> None:
        given = json.loads(case("mail-recipients-see-each-other/input.json"))

        for address in given["recipients"]:
            request = written(to=address, subject=given["subject"], text=given["text"])

            assert request.recipient == address
            assert [to.addr_spec for to in read(request)["To"].addresses] == [address]
            assert {"Bcc", "Cc"}.isdisjoint(read(request))
            assert not any(other.encode() in request.body for other in given["recipients"] if other != address)

    @pytest.mark.parametrize(
        "to", ["a@b.example,c@d.example", "a@b.example c@d.example", "<a@b.example>", "a@b.example\r\nBcc: x"]
    )
    def test_what_looks_like_several_is_none(self, to: str) -> None:
        with pytest.raises(UnsupportedFeature):
            written(to=to)


class TestMailUnicodeLocalPart:
    @pytest.mark.parametrize("to", json.loads(case("mail-unicode-local-part/input.json"))["to"])
    def test_is_never_encoded(self, to: str) -> None:
        request = written(to=to, mail=Mail(to_name="Jörg"))

        assert request.needs_smtputf8
        local = to.partition("@")[0]
        assert request.recipient.startswith(f"{local}@")
        assert f"<{local}@".encode() in header(request)
        assert b"=?" not in header(request).split(b"\r\n")[0]

    def test_without_smtputf8_another_account_is_tried_and_the_address_kept(self) -> None:
        with pytest.raises(RouteRejected) as caught:
            smtp().send_result(MailResponse(0, step=MailStep.SENDER, lacks="SMTPUTF8"))

        assert (caught.value.suppress, caught.value.code) == (None, "SMTPUTF8")

    def test_ascii_needs_nothing(self) -> None:
        assert not written().needs_smtputf8


@pytest.mark.parametrize(
    "vector", json.loads(case("mail-idn-eszett/vectors.json")), ids=lambda vector: vector["unicode"]
)
def test_mail_idn_eszett(vector: dict[str, str | None]) -> None:
    if vector["ascii"] is None:
        with pytest.raises(InvalidRecipient):
            written(to=f"ana@{vector['unicode']}")
        return
    request = written(to=f"ana@{vector['unicode']}")

    assert request.recipient == f"ana@{vector['ascii']}"
    assert f"ana@{vector['ascii']}".encode() in header(request)


class TestAccount:
    def test_is_spoken_to_by_starttls_unless_it_says_otherwise(self) -> None:
        assert written().server == MailServer(
            "mail.notify.example.com", 587, MailSecurity.STARTTLS, "", "relay-user", PASSWORD
        )
        tls = smtp(security="tls").send_request(MESSAGE, ATTEMPT).server
        assert (tls.security, tls.port) == (MailSecurity.TLS, 465)

    def test_base_url_says_where(self) -> None:
        adapter = smtp(security="none")
        local = type(adapter)(replace(adapter.account, base_url="smtp://127.0.0.1:2525"))

        server = local.send_request(MESSAGE, ATTEMPT).server

        assert (server.host, server.port) == ("127.0.0.1", 2525)

    def test_no_password_travels_in_the_open(self) -> None:
        with pytest.raises(AuthenticationFailed):
            smtp(security="none").send_request(MESSAGE, ATTEMPT)

    @pytest.mark.parametrize(
        ("settings", "error"),
        [
            ({"security": "ssl"}, AccountError),
            ({"port": "smtp"}, AccountError),
            ({"host": ""}, AccountError),
            ({"from": ""}, SenderNotAllowed),
            ({"from": "jörg@example.com"}, SenderNotAllowed),
            ({"envelope_from": "nobody"}, SenderNotAllowed),
        ],
    )
    def test_settings_that_make_no_sense_are_the_accounts_fault(
        self, settings: Any, error: type[ProviderError]
    ) -> None:
        with pytest.raises(error):
            smtp(**settings).send_request(MESSAGE, ATTEMPT)

    def test_bounces_may_go_elsewhere(self) -> None:
        request = smtp(envelope_from="bounces@notify.example.com").send_request(MESSAGE, ATTEMPT)

        assert request.sender == "bounces@notify.example.com"
        assert read(request)["From"] == "Notify <no-reply@notify.example.com>"

    def test_a_name_may_be_anything(self) -> None:
        request = smtp(**{"from": "Café, Ltd <no-reply@straße.example>"}).send_request(MESSAGE, ATTEMPT)

        [sender] = read(request)["From"].addresses
        assert (sender.display_name, sender.addr_spec) == ("Café, Ltd", "no-reply@xn--strae-oqa.example")

    @pytest.mark.parametrize(
        "url",
        [
            *("http://localhost.x.example/u", "http://127.0.0.1@x.example/u", "http://localhost:1@x.example/u"),
            *("http://x.example/u", "https://x.example/ü", "https://x.example/a,b", "https://x.example/a>"),
        ],
    )
    def test_a_link_that_no_program_could_follow_is_refused(self, url: str) -> None:
        with pytest.raises(UnsupportedFeature):
            written(mail=Mail(unsubscribe_url=url))

    @pytest.mark.parametrize("url", ["http://localhost:8000/unsubscribe/x/", "http://127.0.0.1/u", "http://[::1]:80/u"])
    def test_a_link_to_this_machine_needs_no_tls(self, url: str) -> None:
        assert url in read(written(mail=Mail(unsubscribe_url=url)))["List-Unsubscribe"]

    def test_an_id_of_a_picture_cannot_hold_anything(self) -> None:
        picture = Attachment("logo.png", "image/png", b"", content_id="logo\r\nBcc: x@y.example")

        with pytest.raises((InvalidRequest, UnsupportedFeature)):
            written(mail=Mail(attachments=(picture,)))


def said(status: int, text: str = "", step: MailStep = MailStep.RECIPIENT) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        smtp().send_result(MailResponse(status, text.encode(), step))
    return caught.value


class TestAnswer:
    @pytest.mark.parametrize(
        ("text", "id", "word"),
        [
            ("2.0.0 Ok: queued as 4BXyz1234", "4BXyz1234", "2.0.0"),
            ("2.6.0 <a@b> Queued as <x.1@mail>", "x.1@mail", "2.6.0"),
            ("OK", None, "250"),
        ],
    )
    def test_yes_at_the_end_is_the_only_yes(self, text: str, id: str | None, word: str) -> None:
        assert smtp().send_result(MailResponse(250, text.encode())) == SendResult(id, word)

    @pytest.mark.parametrize(
        ("step", "status", "text", "error", "suppress"),
        [
            ("recipient", 550, "5.1.1 User unknown", "InvalidRecipient", "hard_bounce"),
            ("recipient", 550, "5.1.2 Host unknown", "InvalidRecipient", None),
            ("recipient", 553, "5.1.3 Bad syntax", "InvalidRecipient", None),
            ("recipient", 551, "5.1.6 Moved", "InvalidRecipient", "hard_bounce"),
            ("recipient", 556, "5.1.10 Null MX", "InvalidRecipient", "hard_bounce"),
            ("recipient", 550, "5.2.1 Disabled", "RecipientUnavailable", "hard_bounce"),
            ("recipient", 552, "5.2.2 Full", "RecipientUnavailable", None),
            ("recipient", 452, "4.2.2 Full", "RecipientBusy", None),
            ("recipient", 450, "4.2.1 Greylisted", "RecipientBusy", None),
            ("recipient", 451, "4.7.1 Greylisted", "RecipientBusy", None),
            ("recipient", 450, "Try later", "RecipientBusy", None),
            ("recipient", 451, "4.3.0 Temporary failure", "Unavailable", None),
            ("recipient", 451, "4.4.1 No route", "Unavailable", None),
            ("recipient", 421, "4.7.0 Too many", "RateLimited", None),
            ("recipient", 550, "5.7.1 Relaying denied", "RouteRejected", None),
            ("recipient", 550, "5.7.26 DMARC", "SenderNotAllowed", None),
            ("recipient", 550, "No such user here", "InvalidRecipient", None),
            ("recipient", 550, "Mailbox not found", "InvalidRecipient", None),
            ("recipient", 550, "Go away", "RouteRejected", None),
            ("recipient", 550, "15.1.1 is no enhanced code", "RouteRejected", None),
            ("recipient", 554, "Denied", "RouteRejected", None),
            ("recipient", 503, "Bad sequence", "InvalidRequest", None),
            ("recipient", 530, "5.7.0 Authentication required", "AuthenticationFailed", None),
            ("recipient", 577, "", "UnknownRefusal", None),
            ("login", 535, "5.7.8 Bad credentials", "AuthenticationFailed", None),
            ("login", 454, "4.7.0 Temporary failure", "Unavailable", None),
            ("greeting", 421, "Busy", "Unavailable", None),
            ("greeting", 554, "No SMTP service here", "SenderNotAllowed", None),
            ("security", 454, "TLS not available", "Unavailable", None),
            ("sender", 451, "4.3.0 Trouble", "Unavailable", None),
            ("sender", 450, "4.7.1 Too many", "RateLimited", None),
            ("sender", 550, "5.7.1 Not yours", "SenderNotAllowed", None),
            ("sender", 550, "5.1.1 Sender unknown", "SenderNotAllowed", None),
            ("sender", 552, "5.3.4 Too big", "InvalidRequest", None),
            ("sender", 552, "Too big", "InvalidRequest", None),
            ("data", 554, "No valid recipients", "UnknownRefusal", None),
            ("end", 552, "5.3.4 Too big", "InvalidRequest", None),
            ("end", 552, "5.2.3 Too long", "InvalidRequest", None),
            ("end", 554, "5.6.0 Bad MIME", "ContentRejected", None),
            ("end", 554, "5.7.1 Spam", "RouteRejected", None),
            ("end", 554, "Spam", "ContentRejected", None),
            ("end", 550, "5.1.1 User unknown", "InvalidRecipient", "hard_bounce"),
            ("end", 451, "4.3.0 Disk full", "Unavailable", None),
            ("end", 421, "Shutting down", "Unavailable", None),
        ],
    )
    def test_no_means(self, step: str, status: int, text: str, error: str, suppress: str | None) -> None:
        refusal = said(status, text, MailStep(step))

        assert (type(refusal).__name__, refusal.suppress) == (error, suppress)
        assert refusal.http_status == status

    def test_who_says_later_is_asked_much_later(self) -> None:
        assert said(450, "4.2.1 Greylisted").retry_after_seconds == 300.0
        assert said(451, "4.3.0 Trouble").retry_after_seconds is None

    @pytest.mark.parametrize("status", [100, 199, 354, 399, 600, 999])
    def test_what_is_no_answer_to_the_end_is_unclear(self, status: int) -> None:
        assert type(said(status, step=MailStep.END)) is OutcomeUnknown
        assert type(said(status, step=MailStep.DATA)) is Unavailable

    @pytest.mark.parametrize("step", [step for step in MailStep if step is not MailStep.END])
    def test_a_yes_before_the_end_takes_nothing(self, step: MailStep) -> None:
        assert type(said(250, "2.0.0 Ok: queued as 4BX", step)) is Unavailable

    @pytest.mark.parametrize("lacks", ["STARTTLS", "AUTH"])
    def test_a_server_that_cannot_do_what_the_account_needs_is_the_accounts_fault(self, lacks: str) -> None:
        with pytest.raises(AuthenticationFailed):
            smtp().send_result(MailResponse(0, step=MailStep.SECURITY, lacks=lacks))

    @given(status=st.integers(400, 599), text=st.text(), step=st.sampled_from(MailStep))
    def test_whatever_is_said_only_a_recipients_fault_suppresses(self, status: int, text: str, step: MailStep) -> None:
        refusal = said(status, text, step)

        assert refusal.suppress is None or isinstance(refusal, errors.RecipientError)
        assert text.strip() == "" or len(text) < 4 or text not in str(refusal)
        assert not isinstance(refusal, OutcomeUnknown)
