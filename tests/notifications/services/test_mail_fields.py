"""What an e-mail may be made of besides its texts: a name, where answers go, files."""

from __future__ import annotations

import base64

import pytest

from notifications.numbers import BODY_BYTES
from notifications.services.mail_fields import (
    CONTENT_TYPE_CHARACTERS,
    FILE_NAME_CHARACTERS,
    FILES,
    FILES_BYTES,
    NAME_CHARACTERS,
)
from notifications.services.request import Refused, read


def request(**email):
    return {
        "to": {"email": "ana@example.org"},
        "content": {"email": {"subject": "Invoice", "text": "Enclosed.", **email}},
    }


def accepted(**email):
    return read(request(**email)).content.email


def refused(**email):
    with pytest.raises(Refused) as caught:
        read(request(**email))
    (error,) = caught.value.errors
    return error.field.removeprefix("content.email."), error.reason


def file(name="invoice.pdf", content=b"%PDF", **fields):
    return {
        "name": name,
        "content_type": "application/pdf",
        "content": base64.b64encode(content).decode(),
        **fields,
    }


class TestReplyTo:
    def test_is_written_as_dns_knows_it(self):
        assert accepted(reply_to="Hilfe@straße.example").reply_to == "Hilfe@xn--strae-oqa.example"

    @pytest.mark.parametrize(
        "address",
        [
            *("help", "a@x.example, b@x.example", "Help <help@x.example>", "help@x.example\r\nBcc: b@x.example", ""),
            *("hilfe@☃.example", "jörg@example.com"),
        ],
    )
    def test_that_is_no_single_address_in_ascii_is_refused_and_not_quoted(self, address):
        field, reason = refused(reply_to=address)

        assert field == "reply_to"
        assert not address or address not in reason


class TestName:
    def test_may_be_anything_in_one_line(self):
        name = 'Müller, "Söhne" <Ana> 用户'

        assert accepted(to_name=name).to_name == name

    @pytest.mark.parametrize("name", ["Ana\r\nBcc: b@x.example", "Ana\n", "", "x" * (NAME_CHARACTERS + 1)])
    def test_of_several_lines_or_none_or_too_long_is_refused(self, name):
        assert refused(to_name=name)[0] == "to_name"


class TestFiles:
    def test_are_kept_as_they_are(self):
        (kept,) = accepted(attachments=[file("Rechnung – März.pdf", content_id="logo@1")]).attachments

        assert base64.b64decode(kept.content) == b"%PDF"
        assert (kept.name, kept.content_type, kept.content_id) == ("Rechnung – März.pdf", "application/pdf", "logo@1")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *[
                ("name", name)
                for name in ("", "..", " ", "a/b.pdf", "a\\b.pdf", "a\r\nb", "a\tb", "a\u202efdp.exe", "a\x7f")
            ],
            ("name", "x" * (FILE_NAME_CHARACTERS + 1)),
            *[
                ("content_type", kind)
                for kind in ("", "pdf", "a/b/c", "text/plain; charset=x", "text/plain\r\nX: y", "image/*", "ä/b")
            ],
            ("content_type", "multipart/mixed"),
            ("content_type", "Message/rfc822"),
            ("content_type", f"a/{'b' * CONTENT_TYPE_CHARACTERS}"),
            *[("content", content) for content in ("", "JVBER", "JVBE\nRg==", "%PDF", "JVBERg==JVBERg==", "ÄÄÄÄ")],
            *[("content_id", id) for id in ("", "logo>", "lo go", "logo\n", "x" * 77)],
        ],
    )
    def test_that_could_not_travel_as_they_are_are_refused(self, field, value):
        assert refused(attachments=[file() | {field: value}])[0] == f"attachments.0.{field}"

    @pytest.mark.parametrize("field", ["name", "content_type", "content"])
    def test_have_a_name_a_kind_and_content(self, field):
        assert refused(attachments=[{name: value for name, value in file().items() if name != field}])[0] == (
            f"attachments.0.{field}"
        )

    def test_are_so_many_and_no_more(self):
        assert len(accepted(attachments=[file()] * FILES).attachments) == FILES
        assert refused(attachments=[file()] * (FILES + 1))[0] == "attachments"
        assert refused(attachments=[])[0] == "attachments"

    def test_have_so_many_bytes_together_and_no_more(self):
        most = [file(content=b"x" * (FILES_BYTES - 1)), file(content=b"x")]

        assert len(accepted(attachments=most).attachments) == 2
        assert refused(attachments=[*most, file(content=b"x")])[0] == "attachments"

    def test_of_the_largest_size_leave_room_for_a_text(self):
        assert FILES_BYTES * 4 // 3 + 100_000 < BODY_BYTES
