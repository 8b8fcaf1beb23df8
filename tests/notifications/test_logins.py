"""Tokens are kept until shortly before their end; one that is refused is asked for anew, once."""

from __future__ import annotations

import pytest

from notifications.logins import RENEWED_SECONDS, Logins
from providers.messages import Token

KEYS = {"private_key": "a"}
FIRST, SECOND = Token("first", 3600.0), Token("second", 3600.0)


@pytest.fixture
def logins() -> Logins:
    logins = Logins()
    logins.keep(7, KEYS, FIRST, 1000.0)
    return logins


def test_a_token_is_good_until_shortly_before_its_end(logins: Logins) -> None:
    ends_at = 1000.0 + 3600.0 - RENEWED_SECONDS

    assert logins.token(7, KEYS, ends_at - 1) is FIRST
    assert logins.token(7, KEYS, ends_at) is None


def test_a_token_that_hardly_lives_is_used_for_nothing_else() -> None:
    logins = Logins()
    logins.keep(7, KEYS, Token("short", 10.0), 1000.0)

    assert logins.token(7, KEYS, 1000.0) is None


def test_is_another_accounts_or_of_other_credentials(logins: Logins) -> None:
    assert logins.token(8, KEYS, 1000.0) is None
    assert logins.token(7, {"private_key": "b"}, 1000.0) is None


class TestRefused:
    def test_is_forgotten_and_another_may_help(self, logins: Logins) -> None:
        assert logins.refused(7, FIRST)
        assert logins.token(7, KEYS, 1000.0) is None

    def test_by_many_at_once_is_forgotten_once(self, logins: Logins) -> None:
        logins.refused(7, FIRST)
        logins.keep(7, KEYS, SECOND, 1001.0)

        assert logins.refused(7, FIRST)
        assert logins.token(7, KEYS, 1001.0) is SECOND

    def test_a_second_time_nothing_helps(self, logins: Logins) -> None:
        logins.refused(7, FIRST)
        logins.keep(7, KEYS, SECOND, 1001.0)

        assert not logins.refused(7, SECOND)
        assert logins.token(7, KEYS, 1001.0) is None

    def test_after_a_yes_it_may_happen_again(self, logins: Logins) -> None:
        logins.refused(7, FIRST)
        logins.keep(7, KEYS, SECOND, 1001.0)
        logins.accepted(7)

        assert logins.refused(7, SECOND)
