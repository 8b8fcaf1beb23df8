from __future__ import annotations

import pytest

from providers.sandbox import Pace, SandboxAccount
from providers.sandbox.accounts import masked


class TestPace:
    def test_lets_a_caller_ask_before_he_is_told(self) -> None:
        deadline_seconds = 10

        assert Pace().unanswered > deadline_seconds + Pace().look_up_lag

    def test_shortens_with_the_look_up_lag(self) -> None:
        assert Pace(look_up_lag=0.1).unanswered == pytest.approx(0.6)
        assert Pace(look_up_lag=0.1, unanswered_after=2).unanswered == 2


class TestSandboxAccount:
    def test_shows_no_secret(self) -> None:
        account = SandboxAccount("mail", "postmark", {"server_token": "secret"}, "http://user:secret@example.org/")

        assert "secret" not in repr(account)


@pytest.mark.parametrize(
    ("address", "shown"), [("+4915100000006", "+49…06"), ("ana.pereira+1@example.org", "a…@example.org")]
)
def test_masked_shows_little(address: str, shown: str) -> None:
    assert masked(address) == shown
