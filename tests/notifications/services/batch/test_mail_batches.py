"""E-mails to many: what a row's values may stand in, and what is done once for all rows."""

from __future__ import annotations

import pytest

from notifications.models import Message, Notification
from notifications.services.batch.fields import templates_of
from notifications.services.request import Content
from tests.notifications.batches import batch_of, refused

pytestmark = pytest.mark.usefixtures("seeded")

HTML = "<html><head><style>p { color: red }</style></head><body><p>Dear {name}</p></body></html>"
CONTENT = {"subject": "For {name}", "text": "Dear {name}"}
ROWS = "to,name\nana@example.org,Ana\nbo@example.org,<Bo>\n"


def stored(field):
    return [row.content["email"][field] for row in Notification.objects.order_by("id")]


class TestHtml:
    def test_is_styled_before_values_are_in_it(self):
        batch_of(ROWS, {"email": {**CONTENT, "html": HTML}})

        first, second = stored("html")
        assert '<p style="color: red;">Dear Ana</p>' in first
        assert '<p style="color: red;">Dear &lt;Bo&gt;</p>' in second

    def test_is_styled_once(self):
        html = templates_of(Content(email={**CONTENT, "html": HTML}))["email"]["html"]

        assert 'style="color: red;"' in html.render({"name": "x"}, limit=1000)

    @pytest.mark.parametrize(
        "html",
        ["<style>p { color: red; {name} }</style><p>x", "<style>p { color: red }</style><p>x</p title='{name}'>"],
    )
    def test_that_would_lose_a_variable_stays_as_it_is(self, html):
        batch_of(ROWS.replace("<Bo>", "Bo"), {"email": {**CONTENT, "html": html}})

        assert stored("html") == [html.replace("{name}", name) for name in ("Ana", "Bo")]

    def test_may_have_variables_in_its_styles(self):
        batch_of(
            "to,name\nana@example.org,green\n", {"email": {**CONTENT, "html": "<style>p{color:{name}}</style><p>x"}}
        )

        assert '<p style="color: green;">' in stored("html")[0]

    def test_styles_no_value(self):
        rows = 'to,name\nana@example.org,"<style>p{color:blue}</style>"\n'

        batch_of(rows, {"email": {**CONTENT, "html": HTML}})

        assert "color:blue}&lt;/style&gt;" in stored("html")[0]


class TestWhatElseAMailHas:
    def test_may_have_values_in_it(self):
        rows = "to,name,desk\nana@example.org,Ana,help\n"

        batch_of(rows, {"email": {**CONTENT, "to_name": "{name} P.", "reply_to": "{desk}@straße.example"}})

        assert (stored("to_name"), stored("reply_to")) == (["Ana P."], ["help@xn--strae-oqa.example"])

    @pytest.mark.parametrize(
        ("desk", "name", "field"),
        [("a b", "Ana", "reply_to"), ("help", "x" * 101, "to_name"), ("ö", "Ana", "reply_to")],
    )
    def test_is_checked_in_each_row(self, desk, name, field):
        rows = f"to,name,desk\nana@example.org,{name},{desk}\n"

        found = refused(rows, {"email": {**CONTENT, "to_name": "{name}", "reply_to": "{desk}@example.org"}})

        assert found.errors[0].field == f"content.email.{field}"

    def test_is_no_file(self):
        file = {"name": "a.txt", "content_type": "text/plain", "content": "QQ=="}

        found = refused(ROWS, {"email": {**CONTENT, "attachments": [file]}})

        assert [(error.field, error.accepted) for error in found.errors] == [
            ("content.email.attachments", "a link to the file in the text")
        ]


class TestAddresses:
    def test_mail_unicode_local_part_and_mail_idn_eszett_are_read_as_in_single_requests(self):
        batch_of("to,name\njo\u0308rg@straße.example,Jörg\nana@STRASSE.example,Ana\n", {"email": CONTENT})

        assert [*Message.objects.order_by("id").values_list("address", flat=True)] == [
            "jörg@xn--strae-oqa.example",
            "ana@strasse.example",
        ]

    def test_that_no_dns_knows_refuse_their_row(self):
        assert refused("to,name\nana@☃.example,Ana\n", {"email": CONTENT}).errors[0].field == "to.email"
