"""An operator's browser: Debian's Chromium, moved by Playwright through a house of real processes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

from config.processes import ROOT
from tests.houses import House, open_house
from tests.scanner import Scanner

CHROMIUM = "/usr/bin/chromium"
SWITCHES = [
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WINDOW = {"width": 1280, "height": 720}
LOOPBACK = "127.0.0.1"
PATIENCE_MILLISECONDS = 30_000
LARGEST_PICTURE_BYTES = 150_000

OPERATOR = "operator"
NUMBERS = {role: f"+49151334455{role}" for role in ("01", "03")}
MAILBOX = "delivered+stern@example.org"
TEXT, SUBJECT = "Ihr Tisch am Zimtstern ist frei", "Zimtstern: Ihr Tisch"


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--screenshots", help="folder for the pictures; default: a temporary one")


@dataclass
class Operator:
    """A browser that is logged in to the admin, and where it has been."""

    house: House
    page: Page
    pictures: Path
    requests: list[str] = field(default_factory=list)

    def admin(self, path: str) -> None:
        """Open a page of the admin."""
        self.page.goto(f"{self.house.web_url}/admin/{path}")

    def act(self, action: str) -> None:
        """Tick everything in a list, choose what to do with it, and Go."""
        self.page.locator("#action-toggle").check()
        self.page.locator("select[name=action]").first.select_option(label=action)
        self.page.locator("button[name=index]").first.click()

    def look_at(self, name: str) -> None:
        """Keep a picture of what the window shows. No address and no text may be in the page at all."""
        scanner = Scanner(numbers=NUMBERS.values(), mailboxes=[MAILBOX], words=["Zimtstern"])
        assert scanner.find(self.page.content().encode()) == []
        path = self.pictures / f"{name}.png"
        self.page.screenshot(path=path, animations="disabled")
        assert path.stat().st_size < LARGEST_PICTURE_BYTES

    def places_asked(self) -> set[str | None]:
        """The hosts that any page has requested something from."""
        return {urlsplit(url).hostname for url in self.requests if not url.startswith(("data:", "blob:"))}


@pytest.fixture(scope="session")
def pictures(pytestconfig: Any, tmp_path_factory: Any) -> Path:
    chosen = pytestconfig.getoption("--screenshots")
    folder = ROOT / chosen if chosen else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def house(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any) -> Iterator[House]:
    """One house for all tests; letters die quickly in it."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # Playwright's own event loop runs in this thread
        environment = {"TRIES": "2", "NORMAL_RETRY_SECONDS": "1"}
        with open_house(tmp_path_factory.mktemp("logs"), with_flower=True, **environment) as opened:
            yield opened
            connection.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    switches = [*SWITCHES, "--no-sandbox"] if os.geteuid() == 0 else SWITCHES
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=switches)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def logged_in(house: House, browser: Browser) -> Iterator[BrowserContext]:
    """A context with the operator's session, begun by the form; it knows Flower's login."""
    password = secrets.token_urlsafe(12)
    get_user_model().objects.create_superuser(OPERATOR, password=password)
    user, flower_password = house.flower_login
    context = browser.new_context(
        viewport=WINDOW,
        locale="en-GB",
        color_scheme="light",
        http_credentials={"username": user, "password": flower_password, "origin": house.flower_url},
    )
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    page.goto(f"{house.web_url}/admin/")
    page.get_by_label("Username").fill(OPERATOR)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    page.close()
    yield context
    context.close()


@pytest.fixture
def operator(house: House, logged_in: BrowserContext, pictures: Path) -> Iterator[Operator]:
    """The operator with a fresh window. Nothing that it opens may ask anybody but this machine."""
    page = logged_in.new_page()
    operator = Operator(house, page, pictures)

    def note(request: Request) -> None:
        operator.requests.append(request.url)

    page.on("request", note)
    yield operator
    page.close()
    assert operator.places_asked() <= {LOOPBACK}
