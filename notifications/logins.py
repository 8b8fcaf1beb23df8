"""Tokens that providers have handed out, as one process holds them. Pure; nothing is asked for here."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from providers.messages import Token

RENEWED_SECONDS = (
    300.0  # before its end a token is asked for anew, so that no call leaves with one that ends on the way
)


@dataclass(slots=True)
class _Login:
    token: Token
    credentials: Mapping[str, str]  # that it was asked for with
    renewed_at: float
    is_second: bool  # asked for since the one before was refused, and nothing has been taken with it


class Logins:
    """By account id; times are in seconds of any one clock. Whoever holds `lock` may ask for a token, and nobody else."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._logins: dict[int, _Login] = {}
        self._refused: set[int] = set()  # accounts whose last token was

    def token(self, account_id: int, credentials: Mapping[str, str], at: float) -> Token | None:
        """The token to send with, or None where one has to be asked for."""
        login = self._logins.get(account_id)
        if login is None or at >= login.renewed_at or login.credentials != credentials:
            return None
        return login.token

    def keep(self, account_id: int, credentials: Mapping[str, str], token: Token, at: float) -> None:
        """Send with this token from now on."""
        renewed_at = at + max(token.life_seconds - RENEWED_SECONDS, 0.0)
        self._logins[account_id] = _Login(token, credentials, renewed_at, account_id in self._refused)

    def accepted(self, account_id: int) -> None:
        """Note that the provider takes messages with the token it gave."""
        login = self._logins.get(account_id)
        if login is not None and login.is_second:
            login.is_second = False
            self._refused.discard(account_id)

    def refused(self, account_id: int, token: Token | None) -> bool:
        """Forget a token that was refused. Returns whether another one may help: not where the second is refused as well."""
        login = self._logins.get(account_id)
        if login is None or login.token is not token:
            return True  # forgotten already
        del self._logins[account_id]
        self._refused.add(account_id)
        return not login.is_second
