"""Receivers of events, as anybody on the network sees them, and by our own adapter."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import requests

from providers.messages import HttpRequest
from providers.sandbox.accounts import Pace
from providers.sandbox.sandbox import Sandbox
from tests.providers.samples.base import ATTEMPT
from tests.providers.samples.webhook import SAMPLE, SECRET, webhook
from tests.providers.test_webhook import OTHER_SECRET

PACE = Pace(slow_answer=0.05, hang=0.05)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox([], pace=PACE) as sandbox:
        yield sandbox


def event(url: str, now: datetime | None = None) -> HttpRequest:
    adapter = webhook(credentials={"url": url})
    return adapter.authorize(adapter.send_request(SAMPLE.message, ATTEMPT), now or datetime.now(UTC))


def post(request: HttpRequest) -> requests.Response:
    return requests.post(request.url, request.body, headers=dict(request.headers), allow_redirects=False, timeout=5)


class TestRoles:
    @pytest.mark.parametrize(
        ("role", "status"),
        [("ok", 200), ("fail", 500), ("refuse", 404), ("busy", 429), ("gone", 410), ("redirect", 307), ("slow", 200)],
    )
    def test_is_in_the_path(self, sandbox: Sandbox, role: str, status: int) -> None:
        for path in (f"/hooks/{role}", f"/hooks/{role}/orders"):
            assert post(event(sandbox.url + path)).status_code == status

    def test_one_says_nothing(self, sandbox: Sandbox) -> None:
        with pytest.raises(requests.ConnectionError):
            post(event(f"{sandbox.url}/hooks/timeout"))

        assert [arrival.answered for arrival in sandbox.receivers.arrivals()] == ["withheld"]

    def test_says_what_there_is(self, sandbox: Sandbox) -> None:
        response = post(event(f"{sandbox.url}/hooks/pigeon"))

        assert response.status_code == 404
        assert "timeout" in response.json()["error"]
        assert sandbox.receivers.arrivals() == []

    def test_can_change(self, sandbox: Sandbox) -> None:
        url = f"{sandbox.url}/hooks/gone/orders"
        changed = requests.post(
            f"{sandbox.url}/_sandbox/hooks", json={"path": "/hooks/gone/orders", "role": "ok"}, timeout=5
        )

        assert (changed.status_code, post(event(url)).status_code) == (200, 200)
        sandbox.reset()
        assert post(event(url)).status_code == 410

    @pytest.mark.parametrize("body", [b"[]", b"nonsense", b'{"role": "pigeon"}', b'{"path": 7}', b'{"secret": []}'])
    def test_cannot_be_nonsense(self, sandbox: Sandbox, body: bytes) -> None:
        assert requests.post(f"{sandbox.url}/_sandbox/hooks", body, timeout=5).status_code == 400


class TestArrivals:
    def test_can_be_asked_for(self, sandbox: Sandbox) -> None:
        post(event(f"{sandbox.url}/hooks/ok/a"))
        post(event(f"{sandbox.url}/hooks/fail"))

        everything = requests.get(f"{sandbox.url}/_sandbox/hooks", timeout=5).json()
        [one] = requests.get(f"{sandbox.url}/_sandbox/hooks", params={"path": "/hooks/ok/a"}, timeout=5).json()

        assert [arrival["answered"] for arrival in everything] == ["200", "500"]
        assert (one["id"], one["body"]) == (f"msg_{ATTEMPT.message}", SAMPLE.message.text)
        assert one["is_signed"] is None

    @pytest.mark.parametrize(
        ("secret", "age", "is_signed"), [(SECRET, 0, True), (OTHER_SECRET, 0, False), (SECRET, 6, False)]
    )
    def test_are_checked_by_the_secret_that_was_told(
        self, sandbox: Sandbox, secret: str, age: int, is_signed: bool
    ) -> None:
        sandbox.receivers.set("/hooks/ok", secret=secret)

        post(event(f"{sandbox.url}/hooks/ok", datetime.now(UTC) - timedelta(minutes=age)))

        assert [arrival.is_signed for arrival in sandbox.receivers.arrivals("/hooks/ok")] == [is_signed]

    @pytest.mark.parametrize("signature", ["", "v1", "v1,", "v1,%%%", "v1a,AAAA", "v1,AAAA"])
    def test_nonsense_is_no_signature(self, sandbox: Sandbox, signature: str) -> None:
        sandbox.receivers.set("/hooks/ok", secret=SECRET)
        request = event(f"{sandbox.url}/hooks/ok")
        request.headers["webhook-signature"] = signature  # type: ignore[index]

        post(request)

        assert [arrival.is_signed for arrival in sandbox.receivers.arrivals()] == [False]
