"""What all push services have in common: what is shortened, what is refused, and whom an account reaches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from providers.errors import InvalidRequest, UnsupportedFeature
from providers.messages import Channel, OutgoingMessage, Push
from providers.pushes import ELLIPSIS, TITLE_BYTES, as_json, fitted, shortened, size
from providers.registry import PROVIDERS
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, case

PUSHING = sorted(name for name, provider in PROVIDERS.items() if Channel.PUSH in provider.channels)
FAMILY = "👨‍👩‍👧‍👦"


class TestShortened:
    @given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])), limit=st.integers(3, 40))
    def test_fits_and_is_a_beginning(self, text: str, limit: int) -> None:
        short = shortened(text, limit)

        assert size(short) <= limit
        assert short == text or text.startswith(short.removesuffix(ELLIPSIS))

    def test_is_cut_between_what_readers_take_for_characters(self) -> None:
        text = FAMILY * 10

        for limit in range(3, size(text)):
            kept = shortened(text, limit).removesuffix(ELLIPSIS)
            assert set(iter_graphemes(kept)) <= {FAMILY}

    def test_counts_bytes_of_json(self) -> None:
        assert [size(text) for text in ("a", "ж", '"', "\n", "\x01", "😀")] == [1, 2, 2, 2, 6, 4]

    def test_leaves_alone_what_fits(self) -> None:
        assert shortened("ж" * 5, 10) == "ж" * 5
        assert shortened("ж" * 6, 10) == "жжж" + ELLIPSIS


class TestFitted:
    @pytest.fixture
    def build(self) -> Any:
        return lambda title, text: {"title": title, "body": text}

    def message(self, text: str, title: str | None = None) -> OutgoingMessage:
        return OutgoingMessage(Channel.PUSH, "fcm:x", text, push=Push(title))

    def test_uses_all_the_room_there_is(self, build: Any) -> None:
        assert len(as_json(fitted(self.message("a" * 9000), build, 4096))) == 4096
        assert len(as_json(fitted(self.message("ж" * 9000), build, 4096))) in (4095, 4096)

    def test_a_title_leaves_room_for_the_text(self, build: Any) -> None:
        made = fitted(self.message("text", "ж" * 9000), build, 4096)

        assert size(made["title"]) <= TITLE_BYTES
        assert made["body"] == "text"

    def test_says_so_where_there_is_no_room(self) -> None:
        with pytest.raises(InvalidRequest):
            fitted(self.message("text"), lambda title, text: {"data": "x" * 4090, "body": text}, 4096)


@pytest.mark.parametrize("name", PUSHING)
class TestEachService:
    def test_replaces_instead_of_doubling_whatever_the_attempt(self, name: str) -> None:
        sample = SAMPLES[name]
        attempts = [replace(ATTEMPT, id=f"{ATTEMPT.message}-{number}") for number in (1, 2)]

        first, second = (sample.provider.send_request(sample.message, attempt) for attempt in attempts)

        marks = [{"Topic", "apns-collapse-id"} & request.headers.keys() for request in (first, second)]
        assert marks[0] == marks[1]
        for mark in marks[0]:
            assert first.headers[mark] == second.headers[mark] == ATTEMPT.message
        if name == "fcm":
            assert first.body == second.body

    def test_reaches_one_app_if_it_is_told_which(self, name: str) -> None:
        account = SAMPLES[name].provider.account
        shop = PROVIDERS[name](replace(account, settings={**account.settings, "app": "shop"}))

        assert (PROVIDERS[name](account).reach, shop.reach) == (name, f"{name}/shop")

    def test_refuses_names_in_the_data_that_are_taken(self, name: str) -> None:
        sample = SAMPLES[name]
        taken = {"fcm": ["from", "message_type", "google.x", "gcm.notification.y"], "apns": ["aps"], "webpush": []}

        for word in ["receipt", *taken[name]]:
            message = replace(sample.message, push=Push("Title", {word: "1"}))
            with pytest.raises(UnsupportedFeature):
                sample.provider.send_request(message, ATTEMPT)

    @pytest.mark.parametrize(
        "changes", [{"channel": Channel.SMS}, {"subject": "Subject"}, {"html": "<p>"}], ids=["sms", "subject", "html"]
    )
    def test_refuses_what_is_no_push(self, name: str, changes: Mapping[str, Any]) -> None:
        with pytest.raises(UnsupportedFeature):
            SAMPLES[name].provider.send_request(replace(SAMPLES[name].message, **changes), ATTEMPT)

    def test_a_lone_surrogate_leaves_as_valid_utf_8(self, name: str) -> None:
        sample = SAMPLES[name]
        half = json.loads(case("text-lone-surrogate/request.json"))["text"]

        for push in (Push(half), Push(None, {half: half})):
            assert sample.provider.send_request(replace(sample.message, text=half, push=push), ATTEMPT).body

    def test_keeps_a_push_for_as_long_as_it_is_useful_and_no_longer_than_it_may(self, name: str) -> None:
        sample = SAMPLES[name]
        written = {
            useful: repr(sample.provider.send_request(replace(sample.message, useful_seconds=useful), ATTEMPT))
            for useful in (77, 10**9, None)
        }

        assert "77" in written[77]
        assert "2419200" in written[10**9]
        assert written[10**9] == written[None]
