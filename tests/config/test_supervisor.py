"""Processes that are kept running: the rule for restarts with a given clock, the rest with real small processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from config.launcher import start_process
from config.processes import ROOT
from config.run.asked import Asked
from config.run.output import LONGEST_LINE_BYTES, Lines, Screen
from config.run.restarts import LONGEST_WAIT_SECONDS, STEADY_SECONDS, Restarts
from config.run.supervisor import Supervisor
from tests.family import is_alive
from tests.waiting import wait_until

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel")

SLEEPER = ["sleep", "600"]
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]


def polite(word: str) -> list[str]:
    return ["sh", "-c", f"trap 'echo {word}; exit 0' TERM; echo ready; while :; do sleep 0.05; done"]


@dataclass
class Watch:
    """A supervisor whose clock is set by the test, and what its processes said."""

    commands: dict[str, list[str]]
    last: tuple[str, ...] = ()
    now: float = 1000.0
    said: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(
            self.commands,
            dict(os.environ),
            lambda name, line: self.said.append((name, line)),
            last=self.last,
            monotonic=lambda: self.now,
        )

    def lines(self, name: str) -> list[str]:
        return [line for speaker, line in self.said if speaker == name]

    def turn_until(self, is_so: Callable[[], object], what: str) -> None:
        def turn() -> object:
            self.supervisor.turn(0)
            return is_so()

        wait_until(turn, seconds=10, what=f"{what}; said: {self.said}")

    def turn_until_said(self, name: str, line: str, times: int = 1) -> None:
        self.turn_until(lambda: self.lines(name).count(line) >= times, f"{name} said {line!r}")


@pytest.fixture
def watch() -> Iterator[Callable[..., Watch]]:
    """Makes supervisors; whatever they run is killed afterwards."""
    made: list[Watch] = []

    def make(last: tuple[str, ...] = (), **commands: list[str]) -> Watch:
        made.append(Watch(commands, last))
        return made[-1]

    yield make
    for one in made:
        one.supervisor.stop(grace_seconds=0)


class TestRestarts:
    def test_wait_twice_as_long_each_time_up_to_a_limit_while_it_dies_young(self) -> None:
        restarts = Restarts()

        waits = [restarts.wait_seconds(lived_seconds=0.1) for _ in range(8)]

        assert waits == [1, 2, 4, 8, 16, 30, 30, 30]

    def test_begin_anew_after_a_life_that_was_long_enough(self) -> None:
        restarts = Restarts()
        while restarts.wait_seconds(lived_seconds=0) < LONGEST_WAIT_SECONDS:
            pass

        assert restarts.wait_seconds(lived_seconds=STEADY_SECONDS) == 1
        assert restarts.wait_seconds(lived_seconds=STEADY_SECONDS - 0.1) == 2

    def test_wait_a_second_after_the_first_end_however_soon_it_came(self) -> None:
        assert Restarts().wait_seconds(lived_seconds=0) == 1


class TestSupervisor:
    def test_passes_on_what_each_process_says(self, watch: Callable[..., Watch]) -> None:
        house = watch(
            one=["sh", "-c", "echo out; echo error >&2; sleep 600"], two=["sh", "-c", "echo hello; sleep 600"]
        )

        house.turn_until_said("one", "error")
        house.turn_until_said("two", "hello")

        assert house.lines("one") == ["out", "error"]

    def test_says_the_last_words_of_a_process_though_they_have_no_line_end(self, watch: Callable[..., Watch]) -> None:
        house = watch(one=["sh", "-c", "printf 'first\nlast words'; exit 3"])

        house.turn_until(lambda: len(house.said) >= 3, "it ended")

        assert house.lines("one") == ["first", "last words", "ended with code 3; starts again in 1 s"]

    def test_starts_a_process_again_when_its_wait_is_over_and_not_before(self, watch: Callable[..., Watch]) -> None:
        house = watch(one=["sh", "-c", "echo here; exit 1"])
        house.turn_until_said("one", "ended with code 1; starts again in 1 s")

        house.now += 0.9
        house.supervisor.turn(0)
        too_soon = house.supervisor.process_id("one")
        house.now += 0.1
        house.turn_until_said("one", "ended with code 1; starts again in 2 s")

        assert too_soon is None
        assert house.lines("one").count("here") == 2

    def test_starts_one_that_was_killed_again_and_leaves_the_others_alone(self, watch: Callable[..., Watch]) -> None:
        house = watch(one=SLEEPER, two=SLEEPER)
        house.supervisor.turn(0)
        one, two = house.supervisor.process_id("one"), house.supervisor.process_id("two")
        assert one
        assert two

        os.kill(one, signal.SIGKILL)
        house.turn_until_said("one", "was ended by signal 9 (Killed); starts again in 1 s")
        house.now += 1
        house.turn_until(lambda: house.supervisor.process_id("one"), "one runs again")

        assert house.supervisor.process_id("one") != one
        assert house.supervisor.process_id("two") == two

    @linux_only
    def test_leaves_nothing_of_what_a_dead_process_had_started(self, watch: Callable[..., Watch]) -> None:
        house = watch(one=["sh", "-c", "sleep 600 & echo $!; exit 1"])

        house.turn_until_said("one", "ended with code 1; starts again in 1 s")

        wait_until(lambda: not is_alive(int(house.lines("one")[0])), seconds=5, what="its child ended")

    def test_reads_on_when_a_process_has_closed_its_output(self, watch: Callable[..., Watch]) -> None:
        house = watch(
            quiet=["sh", "-c", "exec >&- 2>&-; sleep 600"], two=["sh", "-c", "sleep 0.2; echo later; sleep 600"]
        )

        house.turn_until_said("two", "later")

        assert house.supervisor.process_id("quiet")


class TestStop:
    def test_lets_processes_end_by_themselves(self, watch: Callable[..., Watch]) -> None:
        house = watch(one=polite("tidied"), two=polite("tidied"))
        for name in ("one", "two"):
            house.turn_until_said(name, "ready")

        house.supervisor.stop()

        assert house.lines("one") == house.lines("two") == ["ready", "tidied", "ended with code 0"]
        assert house.supervisor.process_id("one") is None

    def test_asks_the_process_alone_and_not_its_children(self, watch: Callable[..., Watch]) -> None:
        child = "trap 'echo child was asked' TERM; sleep 0.3; echo child finished"
        parent = f"trap 'wait; exit 0' TERM; sh -c \"{child}\" & echo ready; wait"
        house = watch(one=["sh", "-c", parent])
        house.turn_until_said("one", "ready")

        house.supervisor.stop()

        assert house.lines("one") == ["ready", "child finished", "ended with code 0"]

    def test_kills_what_has_not_ended_in_time(self, watch: Callable[..., Watch]) -> None:
        house = watch(one=STUBBORN)
        house.turn_until_said("one", "ready")

        house.supervisor.stop(grace_seconds=0)

        assert house.lines("one")[-1] == "has not ended: killed"

    def test_kills_at_once_when_it_becomes_urgent(self, watch: Callable[..., Watch]) -> None:
        house = watch(one=STUBBORN)
        house.turn_until_said("one", "ready")
        asked: list[None] = []

        house.supervisor.stop(grace_seconds=600, is_urgent=lambda: asked.append(None) or len(asked) > 2)  # type: ignore[func-returns-value]

        assert house.supervisor.process_id("one") is None

    def test_ends_the_last_ones_when_the_others_have_ended(self, watch: Callable[..., Watch]) -> None:
        house = watch(last=("zero",), zero=polite("bye"), one=polite("bye"))
        for name in ("zero", "one"):
            house.turn_until_said(name, "ready")

        house.supervisor.stop()

        assert [name for name, line in house.said if line == "bye"] == ["one", "zero"]

    def test_starts_nothing_that_was_about_to_start_again(self, watch: Callable[..., Watch]) -> None:
        house = watch(one=["sh", "-c", "echo here"])
        house.turn_until_said("one", "ended with code 0; starts again in 1 s")

        house.supervisor.stop()
        house.now += 100
        house.supervisor.turn(0)

        assert house.lines("one").count("here") == 1

    @linux_only
    def test_is_not_needed_where_the_supervisor_was_killed(self) -> None:
        script = (
            "import os\n"
            "from config.run.supervisor import Supervisor\n"
            "house = Supervisor({'one': ['sleep', '600'], 'two': ['sleep', '600']}, os.environ, print)\n"
            "house.turn(0)\n"
            "print(house.process_id('one'), house.process_id('two'), flush=True)\n"
            "while True: house.turn()\n"
        )
        with start_process([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout
            children = [int(child) for child in process.stdout.readline().split()]

            process.kill()

        assert len(children) == 2
        wait_until(lambda: not any(map(is_alive, children)), seconds=5, what="its processes ended")


class TestAsked:
    def test_counts_signals_that_come_together_once(self) -> None:
        clock = iter([5.0, 5.1, 5.9, 6.0, 6.5, 9.0])
        asked = Asked(lambda: next(clock))

        counts = []
        for _ in range(6):
            asked.note(signal.SIGTERM, None)
            counts.append(asked.times)

        assert counts == [1, 1, 1, 2, 2, 3]


class TestLines:
    def test_are_whole_however_they_arrive(self) -> None:
        lines = Lines()

        assert lines.feed(b"one\r\ntw") == ["one"]
        assert lines.feed(b"o\n\nthr\xc3") == ["two", ""]
        assert lines.feed(b"\xa9e") == []
        assert lines.end() == ["thrée"]
        assert lines.end() == []

    def test_are_broken_where_they_never_end(self) -> None:
        lines = Lines()

        assert lines.feed(b"x" * (LONGEST_LINE_BYTES + 1)) == ["x" * (LONGEST_LINE_BYTES + 1)]
        assert lines.end() == []

    def test_that_are_no_text_are_shown_all_the_same(self) -> None:
        assert Lines().feed(b"\xff\n") == ["\N{REPLACEMENT CHARACTER}"]


class TestScreen:
    def test_names_the_speaker_in_a_column(self) -> None:
        written: list[str] = []
        screen = Screen(["web", "critical"], written.append, is_coloured=False)

        screen.say("web", "hello")
        screen.say("critical", "hello")

        assert written == ["web      | hello", "critical | hello"]

    def test_gives_each_name_a_colour_and_leaves_the_line_plain(self) -> None:
        written: list[str] = []
        screen = Screen(["web", "beat"], written.append, is_coloured=True)

        screen.say("web", "hello")
        screen.say("beat", "hello")

        assert written == ["\033[36mweb  |\033[0m hello", "\033[33mbeat |\033[0m hello"]
