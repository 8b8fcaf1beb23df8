"""What somebody does who wants no more of these mails: opens the link, reads, clicks once. And who only looks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from notifications.models import Suppression
from notifications.states import End
from tests.browser.conftest import LARGEST_PICTURE_BYTES, LOOPBACK, PATIENCE_MILLISECONDS
from tests.browser.test_operator import accept, wait_for_end
from tests.houses import House
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(180)

SCANNER = {"User-Agent": "Mozilla/5.0 (compatible; MailScanner)"}
SMALLEST_PICTURE_BYTES = 10_000  # of a page that shows something
ONE_CLICK = "List-Unsubscribe=One-Click"


@pytest.fixture
def stranger(browser: Browser) -> Iterator[Page]:
    """A phone that has never been here, and runs no script."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale="en-GB", java_script_enabled=False)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    assert context.cookies() == []
    assert all(f"//{LOOPBACK}:" in url for url in asked)
    context.close()


def link_in_a_mail(house: House, to: str) -> str:
    """Where the newest mail of marketing to somebody says that one unsubscribes."""
    wait_for_end(accept({"email": to}, category="marketing"), End.DELIVERED)
    _, mail = house.sandbox.messages(to=to)[-1]
    assert mail.content.headers["List-Unsubscribe-Post"] == ONE_CLICK
    link: str = mail.content.headers["List-Unsubscribe"].strip("<>")
    assert to.partition("@")[0] not in link
    return link


def reasons() -> list[str]:
    return [*Suppression.objects.values_list("reason", flat=True)]


class TestUnsubscribing:
    def test_takes_one_click_on_a_page_that_says_what_it_does(
        self, house: House, stranger: Page, tmp_path: Path
    ) -> None:
        to = "delivered+brand@example.org"
        link = link_in_a_mail(house, to)

        stranger.goto(link)
        expect(stranger.get_by_role("heading")).to_have_text("Unsubscribe?")
        path = tmp_path / "unsubscribe.png"
        stranger.screenshot(path=path)
        assert SMALLEST_PICTURE_BYTES < path.stat().st_size < LARGEST_PICTURE_BYTES
        assert reasons() == []
        stranger.get_by_role("button", name="Unsubscribe").click()
        clicked = time.monotonic()

        wait_until(lambda: reasons() == ["unsubscribed"], seconds=1, what="suppressed")
        assert time.monotonic() - clicked < 1
        expect(stranger.get_by_role("heading")).to_have_text("You are unsubscribed")
        assert stranger.url == link
        wait_for_end(accept({"email": to}, category="marketing"), End.SUPPRESSED)
        wait_for_end(accept({"email": to}), End.DELIVERED)
        Suppression.objects.all().delete()

    def test_is_not_done_by_looking(self, house: House) -> None:
        link = link_in_a_mail(house, "delivered+scanned@example.org")

        for method in ("GET", "HEAD", "GET"):
            answer = requests.request(method, link, headers=SCANNER, allow_redirects=False, timeout=10)
            assert answer.status_code == 200

        assert reasons() == []

    def test_is_done_by_a_mail_program(self, house: House) -> None:
        link = link_in_a_mail(house, "delivered+program@example.org")
        form = {"Content-Type": "application/x-www-form-urlencoded"}

        answers = [
            requests.post(link, data=ONE_CLICK, headers=form, allow_redirects=False, timeout=10) for _ in range(2)
        ]

        assert [(answer.status_code, answer.cookies.get_dict()) for answer in answers] == [(200, {})] * 2
        assert reasons() == ["unsubscribed"]
        Suppression.objects.all().delete()
