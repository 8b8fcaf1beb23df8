"""When a provider is in trouble: calls that it fails, in a row or by their share of all. Pure; nothing is kept of a call but counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from notifications.numbers import numbers

BUCKETS = 6  # that a window is counted in: it moves by a sixth


@dataclass(slots=True)
class _Bucket:
    number: int = -1  # of the sixth of a window that it counts, since the clock began
    calls: int = 0
    failures: int = 0


@dataclass(slots=True)
class Failing:
    """The calls of one account to one country, as one process made them. Times are in seconds of any one clock."""

    in_a_row: int = 0
    _buckets: list[_Bucket] = field(default_factory=lambda: [_Bucket() for _ in range(BUCKETS)])

    def answered(self, at: float) -> None:
        """Count a call that the provider did not fail."""
        self.in_a_row = 0
        self._bucket(at).calls += 1

    def failed(self, at: float) -> bool:
        """Count a call that it failed. Whether it is in trouble: then counting begins anew."""
        self.in_a_row += 1
        bucket = self._bucket(at)
        bucket.calls += 1
        bucket.failures += 1
        if self.in_a_row < numbers().failures_in_a_row and not self._is_share_too_high(bucket.number):
            return False
        self.in_a_row = 0
        self._buckets = [_Bucket() for _ in range(BUCKETS)]
        return True

    def _bucket(self, at: float) -> _Bucket:
        number = int(at * BUCKETS / numbers().failing_seconds)
        bucket = self._buckets[number % BUCKETS]
        if bucket.number != number:
            bucket.number, bucket.calls, bucket.failures = number, 0, 0
        return bucket

    def _is_share_too_high(self, newest: int) -> bool:
        recent = [bucket for bucket in self._buckets if newest - bucket.number < BUCKETS]
        calls = sum(bucket.calls for bucket in recent)
        failures = sum(bucket.failures for bucket in recent)
        return calls >= numbers().failing_calls and failures >= numbers().failing_share * calls
