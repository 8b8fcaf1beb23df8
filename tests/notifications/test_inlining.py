"""Styles in elements: what becomes of them, what stays, and what is left alone."""

from __future__ import annotations

import socket

import pytest

from notifications.inlining import inlined
from notifications.services.mail_fields import HTML_BYTES

PAGE = "<html><head><style>p { color: red } a:hover { color: blue }</style></head><body><p>{name}</p></body></html>"
SHEET = "<style>p{color:red}</style>"


def styled(html: str) -> str:
    return inlined(html, limit=HTML_BYTES)


class TestStyles:
    def test_are_written_into_the_elements_they_are_for(self):
        assert '<p style="color: red;">{name}</p>' in styled(PAGE)

    def test_that_no_element_can_carry_stay(self):
        page = PAGE.replace("a:hover", "@media (max-width: 600px) { p { color: green } } a:hover")

        written = styled(page)

        assert "a:hover" in written
        assert "@media (max-width: 600px) { p { color: green } }" in written
        assert "p { color: red" not in written

    def test_of_an_element_itself_win(self):
        assert '<p style="color: blue">' in styled(SHEET + '<p style="color: blue">')

    def test_are_the_same_each_time(self):
        assert styled(PAGE) == styled(PAGE)
        assert styled(styled(PAGE)) == styled(PAGE)

    def test_leave_words_links_and_comments_for_one_program_as_they_are(self):
        body = (
            '<!--[if mso]><p>Outlook</p><![endif]--><p>Zwölf &amp; mehr</p><a href="https://x.example/?a=1&amp;b={b}">'
        )

        assert body in styled(f"{SHEET}<body>{body}").replace(' style="color: red;"', "")


class TestHtml:
    @pytest.mark.parametrize("html", ["<p>Table ready", "", "<p style='color: red'>x</p>", "</p>&nbsp;<"])
    def test_without_a_style_sheet_stays_letter_by_letter(self, html):
        assert styled(html) == html

    @pytest.mark.parametrize(
        "html",
        [
            f"{SHEET}<p><b><table></p>{{name}}",
            "<style>p { color",
            "<style>p {{{{ ;;; @media (</style><p>",
            f'{SHEET}<p style="',
            f"{SHEET}<![CDATA[ <svg><style>",
            "<style>p{color:red}<p>never closed",
            "<style>" + ":is(" * 5000 + "</style><p>",
        ],
    )
    def test_however_broken_raises_nothing(self, html):
        assert isinstance(styled(html), str)

    def test_that_would_grow_beyond_the_limit_stays_as_it_is(self):
        html = "<style>p{color:red}</style>" + "<p></p>" * 10

        assert inlined(html, limit=len(html)) == html
        assert inlined(html, limit=1000) != html


class TestWhatWouldTakeTooMuch:
    """Each of these ends the process, or takes a gigabyte or a minute, if it gets to the library."""

    @pytest.mark.parametrize(
        "html",
        [
            SHEET + "<div>" * 50_000,
            SHEET + "<table><td>" * 25_000,
            SHEET + "<p>" + "".join(f"<b a{n}>" for n in range(1500)) + "</p>" + "<p>x</p>" * 1000,
            "<style>*{" + "".join(f"--a{n}:1;" for n in range(5000)) + "}</style>" + "<p>" * 3000,
            "<style>*{--a:" + "x" * 100_000 + "}</style>" + "<p>" * 3000,
            "<STYLE>*{--a:" + "x" * 100_000 + "</stylex>}" + "<p>" * 3000,
        ],
        ids=["deep", "tables", "begun again", "declarations", "long sheet", "sheet without end"],
    )
    def test_stays_as_it_is(self, html):
        assert styled(html) == html

    def test_is_more_than_a_newsletter_has(self):
        rules = "".join(f".c{n} {{ color: #123456; padding: 0 0 0 {n}px }}" for n in range(200))
        cells = '<tr><td class="c7"><a href="https://x.example/">x</a></td></tr>' * 200

        assert 'style="color: #123456;' in styled(f"<style>{rules}</style><table>{cells}</table>")


class TestNothingIsFetched:
    def test_from_anywhere(self, tmp_path):
        (tmp_path / "secret.css").write_text("p { color: green }")
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(0.05)
            port = server.getsockname()[1]
            links = [f"http://127.0.0.1:{port}/x.css", f"{tmp_path}/secret.css", f"file://{tmp_path}/secret.css"]
            html = "".join(f'<link rel="stylesheet" href="{link}">' for link in links)
            imports = f"<style>@import url({links[0]}); @import '{links[1]}'; p {{ color: red }}</style>"

            written = styled(html + imports + "<p>x</p>")

            assert "green" not in written
            assert "color: red" in written
            with pytest.raises(TimeoutError):
                server.accept()
