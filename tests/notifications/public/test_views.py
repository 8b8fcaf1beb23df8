"""The page behind a link to unsubscribe: the case optout-scanner-follows-link, and what else may come to it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client

from notifications.addresses import address_hash
from notifications.models import Suppression
from notifications.services.unsubscribe import link
from tests.factories import MAILBOX
from tests.providers.samples.base import case

pytestmark = pytest.mark.usefixtures("seeded")

ONE_CLICK = "List-Unsubscribe=One-Click"
FORM = "application/x-www-form-urlencoded"
MULTIPART = case("optout-scanner-follows-link/post_multipart.http").partition(b"\n\n")[2]


@pytest.fixture
def http():
    """A stranger's client; what our own tests are spared, it is not."""
    return Client(enforce_csrf_checks=True)


@pytest.fixture
def path(settings):
    return link("marketing", address_hash("email", MAILBOX)).removeprefix(settings.PUBLIC_URL)


def unsubscribed():
    return [*Suppression.objects.values_list("reason", flat=True)]


def asks(answer):
    return b'<form method="post">' in answer.content and b"Unsubscribe?" in answer.content


class TestLooking:
    @pytest.mark.parametrize("method", ["get", "head"])
    def test_changes_nothing_and_uses_nothing_up(self, http, path, method):
        agent = case("optout-scanner-follows-link/get.http").decode().partition("User-Agent: ")[2].strip()
        for _ in range(3):
            answer = getattr(http, method)(path, headers={"User-Agent": agent})
            assert answer.status_code == 200

        assert unsubscribed() == []
        assert http.post(path, ONE_CLICK, content_type=FORM).status_code == 200
        assert unsubscribed() == ["unsubscribed"]

    def test_shows_a_plain_page_with_a_button(self, http, path):
        answer = http.get(path)

        assert asks(answer)
        assert b'<button name="List-Unsubscribe" value="One-Click">' in answer.content
        assert b"<script" not in answer.content
        assert b"http" not in answer.content  # nothing from elsewhere
        assert "noindex" in answer.headers["X-Robots-Tag"]
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert not answer.cookies

    def test_with_a_query_that_somebody_hung_on_it_works(self, http, path):
        assert asks(http.get(f"{path}?utm_source=mail&List-Unsubscribe=One-Click"))
        assert unsubscribed() == []


class TestOneClick:
    def test_unsubscribes_at_once(self, http, path):
        body = case("optout-scanner-follows-link/post.http").partition(b"\n\n")[2]

        answer = http.post(path, body, content_type=FORM)

        assert (answer.status_code, answer.cookies) == (200, {})
        assert b"You are unsubscribed" in answer.content
        assert unsubscribed() == ["unsubscribed"]

    def test_in_another_form_does_too(self, http, path):
        assert http.post(path, MULTIPART, content_type="multipart/form-data; boundary=b").status_code == 200
        assert unsubscribed() == ["unsubscribed"]

    def test_twice_is_once(self, http, path):
        for _ in range(2):
            assert http.post(path, ONE_CLICK, content_type=FORM).status_code == 200

        assert unsubscribed() == ["unsubscribed"]

    def test_is_not_sent_on_where_the_slash_was_lost(self, http, path):
        assert http.post(path.rstrip("/"), ONE_CLICK, content_type=FORM).status_code == 200
        assert unsubscribed() == ["unsubscribed"]

    @pytest.mark.parametrize(
        ("body", "content_type"),
        [
            ("", FORM),
            ("List-Unsubscribe=", FORM),
            ("list-unsubscribe=one-click", FORM),
            ("x=List-Unsubscribe%3DOne-Click", FORM),
            (ONE_CLICK, "text/plain"),
            ('{"List-Unsubscribe": "One-Click"}', "application/json"),
            (ONE_CLICK, f"{FORM}; charset=latin-1"),
            (ONE_CLICK, "multipart/form-data"),
            ("--b\r\nContent-Disposition: form-data", "multipart/form-data; boundary=b"),
            (b"\xff\xfe=%ff", FORM),
            ("&".join(f"a{n}=1" for n in range(1100)), FORM),
            (ONE_CLICK + "&x=" + "x" * 5000, FORM),
        ],
    )
    def test_is_nothing_else(self, http, path, body, content_type):
        answer = http.post(path, body, content_type=content_type)

        assert answer.status_code == 200
        assert asks(answer)
        assert unsubscribed() == []

    @pytest.mark.parametrize("method", ["put", "delete", "patch", "options"])
    def test_is_no_other_method(self, http, path, method):
        assert getattr(http, method)(path, ONE_CLICK).status_code == 405
        assert unsubscribed() == []


class TestWrongLinks:
    @pytest.mark.parametrize("end", ["", "x/", "AAAA/BBBB/", f"{'A' * 5000}/", "%00/", "%C3%A4/"])
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_lead_nowhere(self, http, path, end, method):
        wrong = path.rstrip("/") + end if end and not end.startswith("/") else "/unsubscribe/"

        assert http.generic(method, wrong, ONE_CLICK, content_type=FORM).status_code == 404
        assert unsubscribed() == []

    def test_say_what_to_do(self, http):
        assert b"open it once more from the e-mail" in http.get("/unsubscribe/half/").content


@pytest.mark.django_db(transaction=True)
class TestWithoutADatabase:
    def test_nobody_is_told_that_it_worked(self, http, path, outage):
        outage.begin()

        answer = http.post(path, ONE_CLICK, content_type=FORM)

        outage.end()
        connection.close()
        assert answer.status_code == 503
        assert b"Try again" in answer.content
        assert unsubscribed() == []
