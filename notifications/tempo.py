"""How long the calls of each account take, as one process has seen it."""

from __future__ import annotations

from notifications.numbers import numbers

SHORTEST_SECONDS = 0.001


def learned(known: float, seconds: float) -> float:
    """An estimate after another call: a slow one counts at once, fast ones bring it down slowly."""
    return max(seconds, SHORTEST_SECONDS, 0.9 * known + 0.1 * seconds)


class Tempo:
    """Estimates by account; none of one that has not been called yet."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}

    def learn(self, account_id: int, seconds: float) -> None:
        """Note how long a call took."""
        self._seconds[account_id] = learned(self._seconds.get(account_id, seconds), seconds)

    def seconds(self, account_id: int, *, unknown: float) -> float:
        """How long a call may take; `unknown` where nobody knows."""
        return self._seconds.get(account_id, unknown)

    def is_slow(self, account_id: int) -> bool:
        """Whether calls are known to take so long that others should not wait for them."""
        return self._seconds.get(account_id, 0.0) > numbers().late_start_seconds / 4

    def is_known(self, account_id: int) -> bool:
        """Whether it has been called."""
        return account_id in self._seconds

    def is_quick(self, account_id: int) -> bool:
        """Whether calls are known to be over before anybody waits for them."""
        return self.is_known(account_id) and not self.is_slow(account_id)
