"""What leaves a process for people to read."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.redaction import Redactor, passwords_in

NUMBER = "4915112345601"


@pytest.fixture
def redactor() -> Redactor:
    redactor = Redactor()
    redactor.learn(["s3cret/with+signs", "longer-s3cret", "abc"])
    return redactor


class TestText:
    @pytest.mark.parametrize(
        "private",
        [
            f"+{NUMBER}", "+49 151 123456-01", f"?q=%2B{NUMBER}", f"?q%3D{NUMBER}", f"_filters=q%3D%252B{NUMBER}",
            "q=%2B49%20151%2012345601", "ana+7@example.org", "ana%2B7%40example.org", "q%3Dana%2540example.org",
            "s3cret/with+signs", "s3cret%2Fwith%2Bsigns", "longer-s3cret", "Bearer eyJhbGciOi", "Basic dXNlcjpwYXNz",
            "lf_live_aBcDeFgHiJkLmNoPqRsTuVwXyZ", "Not Found: /unsubscribe/bWFyHiJk_a-b/",
        ],
    )  # fmt: skip
    def test_loses_what_is_private_and_keeps_what_surrounds_it(self, redactor: Redactor, private: str) -> None:
        shown = redactor.text(f"before {private} after")

        assert shown.startswith("before ")
        assert shown.endswith(" after")
        assert "…" in shown
        for part in (NUMBER[2:], "12345601", "example", "s3cret", "eyJ", "dXN", "HiJk"):
            assert part not in shown

    @pytest.mark.parametrize(
        "harmless",
        [
            "Task notifications.drain[0b6f1c7e-53c1-4b0a-9a54-0c8f0c7f5f11] succeeded in 0.022134567400007654s: 2",
            "2026-11-30T23:03:23.544684Z", "http://127.0.0.1:8000/healthz 200", "abc", "id=01a22ebb-b0b8-7000-a48e",
            f"critical@{socket.gethostname()} ready.",
        ],
    )  # fmt: skip
    def test_stays_as_it_is_where_nothing_is_private(self, redactor: Redactor, harmless: str) -> None:
        assert redactor.text(harmless) == harmless

    def test_keeps_the_place_that_a_url_names_without_its_login(self, redactor: Redactor) -> None:
        assert redactor.text("at redis://:pw12345@10.0.0.1:6379/0 now") == "at redis://10.0.0.1:6379/0 now"

    def test_loses_the_row_that_postgres_quotes(self, redactor: Redactor) -> None:
        said = 'violates check constraint "x"\nDETAIL:  Failing row contains (1, {"text": "Your\\n code"}).\nLINE 1'

        assert redactor.text(said) == 'violates check constraint "x"\nDETAIL: …\nLINE 1'

    @given(st.text())
    def test_of_any_kind_can_be_redacted_and_redacted_again(self, text: str) -> None:
        redactor = Redactor()

        once = redactor.text(text)

        assert isinstance(redactor.text(once), str)


class TestValue:
    def test_is_redacted_to_its_depths(self, redactor: Redactor) -> None:
        value = {"a": [f"+{NUMBER}", (1, None, b"ana@example.org")], "keep": f"+{NUMBER}", f"+{NUMBER}": True}

        shown = redactor.value(value, but=frozenset({"keep"}))

        assert shown == {"a": ["…", (1, None, "…")], "keep": f"+{NUMBER}", "…": True}

    def test_of_another_kind_stays_itself_unless_it_shows_something(self, redactor: Redactor) -> None:
        harmless, telling = ValueError("x"), ValueError(f"+{NUMBER}")

        assert redactor.value(harmless) is harmless
        assert redactor.value(telling) == "ValueError('…')"


class TestError:
    def test_says_nothing_private_nor_do_those_behind_it(self, redactor: Redactor) -> None:
        first, second = LookupError(f"no +{NUMBER}"), ValueError("ana@example.org", 7)
        second.__cause__, first.__context__ = first, second

        redactor.error(second)

        assert (repr(first), repr(second)) == ("LookupError('no …')", "ValueError('…', 7)")


class TestSecrets:
    def test_are_learnt_from_an_account_but_for_what_is_public(self, redactor: Redactor) -> None:
        redactor.learn_credentials(
            {"account_sid": "AC123456", "auth_token": "t0k3n-of-mine", "webhook_user": "postmark"}
        )

        assert redactor.text("AC123456 t0k3n-of-mine postmark") == "AC123456 … postmark"

    def test_are_found_in_urls(self) -> None:
        assert passwords_in("redis://:one@a/0;redis://u:two@b:1/0;memory://") == ["one", "two"]
