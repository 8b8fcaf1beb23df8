"""What the fault tests found, as a table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.faults.judge import Verdict

COLUMNS = ("Fault", "Accepted", "Delivered", "Other ends", "Lost", "Twice", "of those marked", "Recovery", "Verdict")

INTRODUCTION = """\
Each row is one fault under a steady load of mixed notifications: SMS with a fallback to e-mail, two accounts a channel,
recipients that are slow, silent, refuse, or whose answer is lost. Three books are compared: what clients were told (202),
what the database says, and what the sandbox counted on the wire. *Lost* is what was accepted and is missing, never came to
an end, or is called delivered without having been on the wire. *Twice* counts second copies on the wire, where the first
was not reported undeliverable; those *marked* the product knows as possible duplicates. *Recovery* is the longest time from
the end of a fault until nothing was overdue, or until what a dead worker held moved again. Lanes critical, high and control
go over `requests`, the others over curl; Postmark's mails go in batches where several are due."""


def totals(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """The sums that the promises are about."""
    twice = Counter[str]()
    for verdict in verdicts:
        twice.update(verdict.by_kind)
    return {
        "accepted": sum(verdict.accepted for verdict in verdicts),
        "messages": sum(verdict.messages for verdict in verdicts),
        "delivered": sum(verdict.delivered for verdict in verdicts),
        "lost": sum(verdict.lost for verdict in verdicts),
        "duplicates": sum(verdict.duplicates for verdict in verdicts),
        "marked": sum(verdict.marked for verdict in verdicts),
        "possible": sum(verdict.possible for verdict in verdicts),
        "pool processes killed": sum(verdict.kills for verdict in verdicts),
        "workers killed": sum(verdict.worker_kills for verdict in verdicts),
        "broken": sum(bool(verdict.broken) for verdict in verdicts),
        **{f"twice, provider of kind {kind}": count for kind, count in sorted(twice.items())},
    }


def line(verdict: Verdict) -> str:
    """One verdict as a line on a terminal."""
    recovery = f"{verdict.recovery_seconds:5.1f} s" if verdict.recovery_seconds is not None else "      –"
    said = "BROKEN" if verdict.broken else "held"
    return (
        f"{verdict.name[:47]:47} accepted {verdict.accepted:5} delivered {verdict.delivered:5} other {verdict.other_ends:4} "
        f"lost {verdict.lost:3} twice {verdict.duplicates:3} marked {verdict.marked:3} recovery {recovery} "
        f"{verdict.seconds:4.0f} s  {said}"
    )


def markdown(verdicts: Sequence[Verdict], *, date: str, commit: str, seed: int, seconds: float) -> str:
    """The document: what was broken, and what became of the promises."""
    sums = totals(verdicts)
    made = (
        f"Made by `make faults` on {date}, commit `{commit}`, seed {seed}, in {seconds / 60:.0f} minutes on 2 cores. "
        f"{sums['accepted']:,} notifications were accepted, {sums['messages']:,} messages; "
        f"{sums['pool processes killed']:,} pool processes and {sums['workers killed']} whole workers were killed."
    )
    return "\n".join(
        [
            "# Nothing lost, nothing twice: broken on purpose",
            "",
            made,
            "",
            "| | Rows | Accepted | Lost | Twice | of those marked | Longest recovery |",
            "|---|--:|--:|--:|--:|--:|--:|",
            *(_summary(group, verdicts) for group in dict.fromkeys(verdict.group for verdict in verdicts)),
            "",
            INTRODUCTION,
            "",
            "| " + " | ".join(COLUMNS) + " |",
            "|---|" + "--:|" * 7 + "---|",
            *(_row(verdict) for verdict in verdicts),
            "",
            "Twice, by what the provider can be asked: "
            + (", ".join(f"{kind} {sums[f'twice, provider of kind {kind}']}" for kind in _kinds(sums)) or "none")
            + ". With keys and with a search by our own reference there is none.",
            "",
            *_notes(verdicts),
        ]
    )


def _kinds(sums: dict[str, int]) -> list[str]:
    return [name.rpartition(" ")[2] for name in sums if name.startswith("twice, ")]


def _summary(group: str, verdicts: Sequence[Verdict]) -> str:
    rows = [verdict for verdict in verdicts if verdict.group == group]
    recovery = max(verdict.recovery_seconds or 0.0 for verdict in rows)
    sums = totals(rows)
    cells = (
        group,
        len(rows),
        f"{sums['accepted']:,}",
        sums["lost"],
        sums["duplicates"],
        sums["marked"],
        f"{recovery:.0f} s",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _row(verdict: Verdict) -> str:
    recovery = f"{verdict.recovery_seconds:.1f} s" if verdict.recovery_seconds is not None else "–"
    cells = (
        verdict.name,
        f"{verdict.accepted:,}",
        f"{verdict.delivered:,}",
        f"{verdict.other_ends:,}",
        str(verdict.lost),
        str(verdict.duplicates),
        str(verdict.marked),
        recovery,
        "**broken**" if verdict.broken else "held",
    )
    return "| " + " | ".join(cells) + " |"


def _notes(verdicts: Sequence[Verdict]) -> list[str]:
    lines = [f"- {verdict.name}: {note}" for verdict in verdicts for note in [*verdict.notes, *verdict.broken]]
    return ["Notes", "", *lines, ""] if lines else []
