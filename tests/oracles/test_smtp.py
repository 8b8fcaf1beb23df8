"""SMTP: what others read in our mails: Python's reader, one written in Rust, and a mail server behind the wire.

Blanks at the ends of a subject or a name are nobody's to keep; the words are the same.
"""

from __future__ import annotations

import email
import email.policy
import socket
from collections.abc import Iterator
from dataclasses import replace
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import parseaddr
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiosmtpd.controller import Controller
from fast_mail_parser import parse_email
from hypothesis import given
from hypothesis import strategies as st

from providers.messages import OutgoingMessage
from providers.transport.base import Call
from providers.transport.inbox import send_many
from providers.transport.smtp import SmtpTransport
from tests.oracles.sdk import mails, seldom
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.smtp import SAMPLE, smtp

UNSUBSCRIBING = "List-Unsubscribe", "List-Unsubscribe-Post"

dotted = st.lists(st.sampled_from([".", "..", ". ", "", "a", ".\r", "QUIT", "=2E", "é."]), max_size=12).map("\n".join)


def body_of(message: OutgoingMessage) -> bytes:
    return smtp().send_request(message, ATTEMPT).body


def lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")


def words(text: str | None) -> list[str]:
    return "".join(" " if letter < " " or letter in "\x7f\x85\u2028\u2029" else letter for letter in text or "").split()


class TestReaders:
    @seldom
    @given(mails())
    def test_find_what_was_written_in_python(self, message):
        mail = cast(EmailMessage, email.message_from_bytes(body_of(message), policy=email.policy.SMTPUTF8))

        extra, to = message.mail, email.message_from_bytes(body_of(message))["To"]
        name, address = parseaddr(to)  # the newer reader puts a blank between two encoded words
        assert (words(str(make_header(decode_header(name)))), address) == (words(extra.to_name), message.to)
        assert words(mail["Subject"]) == words(message.subject)
        assert mail["Reply-To"] == extra.reply_to
        assert [mail[name] for name in UNSUBSCRIBING] == unsubscribing(message)
        shown = {part.get_content_type(): lines(part.get_content()) for part in mail.walk() if is_shown(part)}
        assert shown.get("text/plain") == lines(message.text)
        assert shown.get("text/html") == (None if message.html is None else lines(message.html))
        files = [part for part in mail.walk() if part.get_filename()]
        assert [(file.get_filename(), file.get_content_type(), file.get_payload(decode=True)) for file in files] == [
            (file.name, file.content_type, file.content) for file in extra.attachments
        ]
        assert [file["Content-ID"] for file in files] == [
            id_of(file) and f"<{id_of(file)}>" for file in extra.attachments
        ]
        assert not [defect for part in mail.walk() for defect in part.defects]

    @seldom
    @given(mails())
    def test_find_what_was_written_in_rust(self, message):
        mail, extra = parse_email(body_of(message)), message.mail

        [to] = mail.to
        assert (words(to.display_name), to.address) == (words(extra.to_name), message.to)
        assert words(mail.subject) == words(message.subject)
        assert [address.address for address in mail.reply_to] == ([extra.reply_to] if extra.reply_to else [])
        assert [mail.headers.get(name, [None])[0] for name in UNSUBSCRIBING] == unsubscribing(message)
        assert lines(mail.text_plain[0]) == lines(message.text)  # behind it come texts that are files
        assert [lines(text) for text in mail.text_html] == ([] if message.html is None else [lines(message.html)])
        assert [(file.filename, file.mimetype, file.content) for file in mail.attachments] == [
            (file.name, file.content_type, file.content) for file in extra.attachments
        ]
        assert not mail.warnings


def unsubscribing(message: Any) -> list[str | None]:
    url = message.mail.unsubscribe_url
    return [f"<{url}>", "List-Unsubscribe=One-Click"] if url else [None, None]


def id_of(file: Any) -> str | None:
    content_id: str | None = file.content_id
    return content_id


def is_shown(part: EmailMessage) -> bool:
    return not part.is_multipart() and part.get_filename() is None


@pytest.fixture(scope="module")
def server() -> Iterator[SimpleNamespace]:
    """A mail server, and what it has taken."""
    taken: list[bytes] = []

    async def keep(server: Any, session: Any, envelope: Any) -> str:
        taken.append(envelope.original_content)
        return "250 2.0.0 Ok: queued as 4BXyz"

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    listening = Controller(SimpleNamespace(handle_DATA=keep), "127.0.0.1", port)
    listening.start()
    yield SimpleNamespace(port=port, taken=taken)
    listening.stop()


class TestWire:
    @seldom
    @given(dotted, st.none() | dotted)
    def test_what_a_mail_server_takes_is_what_was_written(self, server, text, html):
        message = replace(SAMPLE.message, text=text, html=html)
        request = smtp(host="127.0.0.1", port=server.port, security="none").send_request(message, ATTEMPT)
        request = replace(request, server=replace(request.server, username="", password=""))
        transport = SmtpTransport(concurrency=1)

        [[answer]] = send_many(transport, [Call(1, request, 5)])

        transport.close()
        assert smtp().send_result(answer.result).provider_message_id == "4BXyz"
        date, _, rest = server.taken.pop().partition(b"\r\n")
        assert date.startswith(b"Date: ")
        assert rest == request.body
