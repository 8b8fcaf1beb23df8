"""The verdict on one row, from three books: what clients were told, what the database says, what was on the wire."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from tests.faults.house import KINDS, House
from tests.faults.load import Told

UNDELIVERED = {Word.UNDELIVERABLE, Word.SOFT_BOUNCE, Word.HARD_BOUNCE}
ENDS = ("delivered", "unconfirmed", "failed", "expired", "suppressed", "cancelled", "dead_lettered")

MESSAGES = """
SELECT n.id::text, coalesce(n."end", 'open'), m.id::text, replace(m.id::text, '-', ''), m.state, m.reason, m.attempt_count
FROM notification n LEFT JOIN message m ON m.notification_id = n.id WHERE n.reference = %s"""

STUCK = """
SELECT m.state, m.reason, m.tries, o.lane, o.strikes, o.claim IS NOT NULL, (o.due_at - now())::text
FROM message m LEFT JOIN outbox o ON o.message_id = m.id WHERE m.notification_id = %s ORDER BY m.step"""

ON_FILE = """
SELECT replace(a.message_id::text, '-', '') || '-' || a.number FROM attempt a
JOIN message m ON m.id = a.message_id JOIN notification n ON n.id = m.notification_id WHERE n.reference = %s
UNION SELECT a.provider_key FROM attempt a
JOIN message m ON m.id = a.message_id JOIN notification n ON n.id = m.notification_id
WHERE n.reference = %s AND a.provider_key IS NOT NULL"""


@dataclass
class Verdict:
    """One row of the table. `broken` says in words what promise did not hold; empty: all held."""

    name: str
    group: str = ""
    accepted: int = 0
    messages: int = 0
    delivered: int = 0
    other_ends: int = 0
    lost: int = 0
    duplicates: int = 0  # on the wire
    marked: int = 0  # of those, known to the database as possible
    possible: int = 0  # messages the database calls possible duplicates
    by_kind: dict[str, int] = field(default_factory=dict)  # duplicates by what their provider can be asked
    ends: dict[str, int] = field(default_factory=dict)
    recovery_seconds: float | None = None
    kills: int = 0
    worker_kills: int = 0
    notes: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def judge(
    house: House,
    told: Told,
    label: str,
    verdict: Verdict,
    *,
    lied: bool,
    forgotten: frozenset[str],
    restored_at: float | None,
) -> None:
    """Fill in a verdict. `lied`: searches by recipient did not show what was there.

    `forgotten`: accepted after the backup. `restored_at`: when the database was put back (seconds since 1970), if it was.
    """
    rows = house.rows(MESSAGES, label)
    ends = {str(row[0]): str(row[1]) for row in rows}
    accepted = set(told.accepted) - forgotten
    wire = [(slug, message) for slug, message in house.sandbox.messages() if message.text.startswith(f"{label} ")]
    _count(verdict, accepted, ends, rows)
    _lost(verdict, house, accepted, ends)
    _untrue(verdict, rows, {str(message.attempt).rpartition("-")[0] for _, message in wire})
    _hidden(verdict, house, label, wire)
    _twice(verdict, label, wire, lied=lied, restored_at=restored_at)
    _contradictions(verdict)


def _count(verdict: Verdict, accepted: set[str], ends: dict[str, str], rows: list[tuple[object, ...]]) -> None:
    counted = Counter(ends.values())
    verdict.accepted = len(accepted)
    verdict.messages = sum(row[2] is not None for row in rows)
    verdict.ends = dict(counted)
    verdict.delivered = counted["delivered"]
    verdict.other_ends = sum(counted[end] for end in ENDS) - counted["delivered"]


def _lost(verdict: Verdict, house: House, accepted: set[str], ends: dict[str, str]) -> None:
    missing = accepted - ends.keys()
    stuck = {id for id, end in ends.items() if end == "open"}
    verdict.lost = len(missing | stuck)
    if missing:
        verdict.broken.append(f"{len(missing)} accepted and not in the database, e.g. {sorted(missing)[0]}")
    if stuck:
        where = house.rows(STUCK, sorted(stuck)[0])
        verdict.broken.append(f"{len(stuck)} never came to an end, e.g. {sorted(stuck)[0]}: {where}")


def _untrue(verdict: Verdict, rows: list[tuple[object, ...]], on_the_wire: set[str]) -> None:
    """A message that is called delivered was at a provider."""
    untrue = [row[2] for row in rows if row[4] == "delivered" and row[3] not in on_the_wire]
    if untrue:
        verdict.lost += len(untrue)
        verdict.broken.append(f"{len(untrue)} called delivered and never on the wire, e.g. {untrue[0]}")


def _hidden(verdict: Verdict, house: House, label: str, wire: list[tuple[str, Message]]) -> None:
    """What was on the wire has an attempt on file."""
    on_file = {str(row[0]) for row in house.rows(ON_FILE, label, label)}
    hidden = [str(message.attempt) for _, message in wire if message.attempt not in on_file]
    if hidden and not any("restored" in note for note in verdict.notes):
        verdict.broken.append(f"{len(hidden)} on the wire without an attempt on file, e.g. {hidden[0]}")


def _twice(
    verdict: Verdict, label: str, wire: list[tuple[str, Message]], *, lied: bool, restored_at: float | None
) -> None:
    """Count second copies, and those that a promise forbids."""
    marked = _marked(label)
    verdict.possible = len(marked)
    same = defaultdict(list)
    last = defaultdict(float)  # when the last copy was taken
    for slug, message in wire:
        if not UNDELIVERED & {
            word for word, _ in message.reached
        }:  # a second one is right where the first did not arrive
            same[message.to, message.text].append((slug, str(message.attempt)))
            last[message.to, message.text] = max(last[message.to, message.text], message.taken_at)
    by_kind: Counter[str] = Counter()
    for what, sent in same.items():
        if len(sent) < 2:
            continue
        kinds = {KINDS[slug] for slug, _ in sent}
        is_marked = bool({attempt.rpartition("-")[0] for _, attempt in sent} & marked)
        verdict.duplicates += len(sent) - 1
        verdict.marked += (len(sent) - 1) * is_marked
        by_kind["+".join(sorted(kinds))] += len(sent) - 1
        # What a search hid, nobody could know; nor what was sent, and marked, in a time that the database has forgotten.
        is_lied_about = lied and {"recipient"} <= kinds <= {"recipient", "nothing"}
        is_forgotten = restored_at is not None and last[what] < restored_at
        if not is_lied_about and not (kinds == {"nothing"} and (is_marked or is_forgotten)):
            said = "marked" if is_marked else "not marked"
            verdict.broken.append(f"sent twice by a provider of kind {'+'.join(sorted(kinds))}, {said}: {sent}")
    verdict.by_kind = dict(by_kind)


def _marked(label: str) -> set[str]:
    """The messages that the product itself calls possible duplicates."""
    from notifications.duplicates import second_ones
    from notifications.models import Message as Row

    rows = Row.objects.filter(notification__reference=label).prefetch_related("attempts")
    return {row.id.hex for row in rows if second_ones(row.attempts.all())}


def _contradictions(verdict: Verdict) -> None:
    from notifications.services.audit import audit

    report = audit()
    verdict.broken += [str(fault) for fault in report.faults[:5]]
