"""Ids: version 7, ascending whatever the clock and the threads do; those of steps are the same each time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise, repeat
from uuid import RFC_4122, UUID

import pytest

from notifications.ids import AscendingIds, first_id_at, new_id, step_id

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
NOON_MILLISECONDS = 1_800_014_400_000
IN_ONE_MILLISECOND = 4096


def ids_at(*milliseconds: int) -> AscendingIds:
    """A maker of ids whose clock shows these milliseconds, the last one for ever; its random bits are all zero."""
    clock: Iterator[int] = chain(milliseconds, repeat(milliseconds[-1]))
    return AscendingIds(milliseconds=lambda: next(clock), random_bytes=bytes)


def milliseconds_of(id: UUID) -> int:
    return id.int >> 80


def ascend(ids: list[UUID]) -> bool:
    return all(earlier < later for earlier, later in pairwise(ids))


class TestAscendingIds:
    def test_are_uuids_of_version_7(self):
        ids = [new_id() for _ in range(100)]

        assert {id.version for id in ids} == {7}
        assert {id.variant for id in ids} == {RFC_4122}

    def test_keep_version_and_variant_whatever_the_random_bytes(self):
        id = AscendingIds(milliseconds=lambda: NOON_MILLISECONDS, random_bytes=lambda count: b"\xff" * count)()

        assert (id.version, id.variant) == (7, RFC_4122)

    def test_begin_with_the_milliseconds_of_the_clock(self):
        assert milliseconds_of(ids_at(NOON_MILLISECONDS)()) == NOON_MILLISECONDS

    def test_end_in_62_random_bits(self):
        first, second = (AscendingIds(milliseconds=lambda: NOON_MILLISECONDS)() for _ in range(2))

        assert first.int >> 62 == second.int >> 62
        assert first != second

    def test_ascend_within_one_millisecond(self):
        make = ids_at(NOON_MILLISECONDS)

        assert ascend([make() for _ in range(100)])

    def test_borrow_the_next_millisecond_when_one_is_full(self):
        make = ids_at(NOON_MILLISECONDS)

        ids = [make() for _ in range(IN_ONE_MILLISECOND + 1)]

        assert ascend(ids)
        assert [milliseconds_of(id) - NOON_MILLISECONDS for id in (ids[0], ids[-2], ids[-1])] == [0, 0, 1]

    def test_ascend_while_the_clock_steps_back_an_hour(self):
        make = ids_at(NOON_MILLISECONDS, NOON_MILLISECONDS - 3_600_000)

        ids = [make() for _ in range(10)]

        assert ascend(ids)
        assert milliseconds_of(ids[-1]) == NOON_MILLISECONDS

    def test_follow_the_clock_again_once_it_has_caught_up(self):
        make = ids_at(NOON_MILLISECONDS, NOON_MILLISECONDS - 5, NOON_MILLISECONDS + 1)

        ids = [make() for _ in range(3)]

        assert ascend(ids)
        assert milliseconds_of(ids[-1]) == NOON_MILLISECONDS + 1

    def test_ascend_in_every_thread_and_never_repeat(self):
        make = AscendingIds()

        with ThreadPoolExecutor(8) as pool:
            by_thread = list(pool.map(lambda _: [make() for _ in range(1000)], range(8)))

        assert all(ascend(ids) for ids in by_thread)
        assert len(set(chain(*by_thread))) == 8000


class TestFirstIdAt:
    def test_bounds_the_ids_of_its_millisecond_from_below_and_those_before_from_above(self):
        before, at = ids_at(NOON_MILLISECONDS - 1)(), ids_at(NOON_MILLISECONDS)()

        assert before < first_id_at(NOON) <= at

    def test_is_itself_the_smallest_id_of_version_7(self):
        id = first_id_at(NOON)

        assert (id.version, id.variant) == (7, RFC_4122)
        assert id == ids_at(NOON_MILLISECONDS)()  # first of its millisecond, no random bit set

    @pytest.mark.parametrize("milliseconds", [0, 1, 57, 115, 499, 999])
    def test_is_exact_to_the_millisecond(self, milliseconds):
        moment = NOON + timedelta(milliseconds=milliseconds)

        assert milliseconds_of(first_id_at(moment)) == NOON_MILLISECONDS + milliseconds

    def test_takes_a_moment_of_any_zone(self):
        elsewhere = NOON.astimezone(datetime.fromisoformat("2027-01-15T12:00:00+05:30").tzinfo)

        assert first_id_at(elsewhere) == first_id_at(NOON)


class TestStepId:
    def test_is_the_same_whenever_the_step_begins(self):
        id = UUID("019bc0d5-3a00-7000-8000-00000000abcd")

        assert [step_id(id, step) for step in (0, 1)] == [
            UUID("019bc0d5-3a00-7000-8000-8637840ba7df"),
            UUID("019bc0d5-3a00-7000-8001-8cd4a5cc511c"),
        ]

    def test_is_a_uuid_of_version_7(self):
        ids = [step_id(new_id(), step) for step in (0, 1, 99, 16_383)]

        assert {(id.version, id.variant) for id in ids} == {(7, RFC_4122)}

    def test_differs_from_step_to_step_and_from_notification_to_notification(self):
        notifications = [new_id() for _ in range(100)]

        ids = {step_id(id, step) for id in notifications for step in range(5)}

        assert len(ids | set(notifications)) == 600

    def test_differs_between_notifications_of_one_moment(self):
        """Two processes may make ids of the same millisecond and sequence, apart in their random bits alone."""
        first, second = (AscendingIds(milliseconds=lambda: NOON_MILLISECONDS)() for _ in range(2))

        assert first.int >> 62 == second.int >> 62
        assert step_id(first, 0) != step_id(second, 0)

    def test_lies_beside_its_notification_in_the_order_of_the_steps(self):
        make = ids_at(NOON_MILLISECONDS)
        first, second = make(), make()

        ids = [step_id(id, step) for id in (first, second) for step in range(20)]

        assert ascend(ids)
        assert {milliseconds_of(id) for id in ids} == {NOON_MILLISECONDS}
