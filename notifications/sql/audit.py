"""Audit: promises 1 to 3 checked against every row, by windows of ids."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from notifications.sql.rows import execute

ACCEPTED = "SELECT count(*) FROM notification WHERE id > %(after)s AND id <= %(until)s"

ENDS = """
SELECT coalesce("end", 'open'), count(*) FROM notification WHERE id > %(after)s AND id <= %(until)s GROUP BY 1"""

CLEANED = 'SELECT "end", sum(count) FROM tally GROUP BY "end"'

# The rule of `duplicates.py`.
DUPLICATES = """
SELECT count(DISTINCT a.message_id) FROM attempt a JOIN message m ON m.id = a.message_id
WHERE m.notification_id > %(after)s AND m.notification_id <= %(until)s
    AND a.outcome = 'unclear' AND (a.looked_up IS DISTINCT FROM 'not_there' OR a.provider_message_id IS NOT NULL)
    AND EXISTS (
        SELECT FROM attempt later WHERE later.message_id = a.message_id AND later.number > a.number
            AND later.outcome IN ('taken', 'unclear')
            AND (later.account_id = a.account_id AND later.provider_key = a.provider_key) IS NOT TRUE
    )"""

_WINDOW = "n.id > %(after)s AND n.id <= %(until)s"
MISSING_ENTRY = "an open message without an entry"
SURPLUS_ENTRY = "an ended message with an entry"
_OPEN = "('queued', 'uncertain', 'sent')"
# The rule of `services/steps.py`.
_ANY_STEP_IS = """EXISTS (
                SELECT FROM message part WHERE part.notification_id = n.id AND part.reason <> 'no_address' GROUP BY part.step
                HAVING CASE WHEN n.steps -> part.step ->> 'need' = 'all'
                    THEN count(DISTINCT channel) = count(DISTINCT channel) FILTER (WHERE state IN ({states}))
                    ELSE bool_or(state IN ({states})) END
            )"""
_DELIVERED = _ANY_STEP_IS.format(states="'delivered'")
_PERHAPS_DELIVERED = _ANY_STEP_IS.format(states="'delivered', 'unconfirmed'")
# Tried ones first, of those the last step, of that the worst.
_LAST_AND_WORST = """reason IN ('no_address', 'delivered_by_another_step'), step DESC,
                    array_position(ARRAY['dead_lettered', 'cancelled', 'failed', 'expired', 'suppressed', 'unconfirmed'], state::text)"""

# Each finds rows that contradict another one: the id, and what is wrong in words.
CONTRADICTIONS = {
    "a notification whose end does not follow from its messages": f"""
        SELECT n.id, format('end is %%s, its messages say %%s', coalesce(n."end", 'open'), coalesce(m.expected, 'open'))
        FROM notification n CROSS JOIN LATERAL (
            SELECT CASE WHEN {_DELIVERED} THEN 'delivered' WHEN bool_or(state IN {_OPEN}) THEN NULL
                WHEN {_PERHAPS_DELIVERED} THEN 'unconfirmed'
                ELSE (array_agg(state ORDER BY {_LAST_AND_WORST}) FILTER (WHERE state <> 'delivered'))[1] END AS expected
            FROM message WHERE notification_id = n.id
        ) m WHERE {_WINDOW} AND n."end" IS DISTINCT FROM m.expected""",
    "a notification without a message": f"""
        SELECT n.id, 'has no message' FROM notification n
        WHERE {_WINDOW} AND NOT EXISTS (SELECT FROM message WHERE notification_id = n.id)""",
    MISSING_ENTRY: f"""
        SELECT m.id, format('is %%s and has no outbox entry', m.state)
        FROM notification n JOIN message m ON m.notification_id = n.id
        WHERE {_WINDOW} AND m.state IN {_OPEN} AND NOT EXISTS (SELECT FROM outbox WHERE message_id = m.id)""",
    SURPLUS_ENTRY: f"""
        SELECT m.id, format('is %%s and still has an outbox entry', m.state)
        FROM notification n JOIN message m ON m.notification_id = n.id JOIN outbox o ON o.message_id = m.id
        WHERE {_WINDOW} AND m.state NOT IN {_OPEN}""",
    "a message whose attempts are not all on file": f"""
        SELECT m.id, format('counts %%s attempts, %%s are on file', m.attempt_count, a.filed)
        FROM notification n JOIN message m ON m.notification_id = n.id
        CROSS JOIN LATERAL (
            SELECT count(*) AS filed, coalesce(max(number), 0) AS last FROM attempt WHERE message_id = m.id
        ) a WHERE {_WINDOW} AND (a.filed <> m.attempt_count OR a.last <> m.attempt_count)
            AND NOT EXISTS (SELECT FROM outbox o WHERE o.message_id = m.id AND o.attempt = a.last)""",
    "a dead-lettered message without a dead letter": f"""
        SELECT m.id, 'is dead-lettered and in no dead letter'
        FROM notification n JOIN message m ON m.notification_id = n.id
        WHERE {_WINDOW} AND m.state = 'dead_lettered' AND NOT EXISTS (SELECT FROM dead_letter WHERE message_id = m.id)""",
}

ORPHANS = {
    "a message without a notification": """
        SELECT m.id, 'belongs to no notification' FROM message m
        WHERE NOT EXISTS (SELECT FROM notification WHERE id = m.notification_id)""",
    "an entry without a message": """
        SELECT o.message_id, 'outbox entry belongs to no message' FROM outbox o
        WHERE NOT EXISTS (SELECT FROM message WHERE id = o.message_id)""",
    "an attempt without a message": """
        SELECT a.message_id, 'attempt belongs to no message' FROM attempt a
        WHERE NOT EXISTS (SELECT FROM message WHERE id = a.message_id)""",
    "a report without a message": """
        SELECT e.message_id, 'report belongs to no message' FROM delivery_event e
        WHERE e.message_id IS NOT NULL AND NOT EXISTS (SELECT FROM message WHERE id = e.message_id)""",
}


def accepted(after: UUID, until: UUID) -> int:
    """How many notifications a window holds."""
    return int(execute(ACCEPTED, {"after": after, "until": until})[0][0])


def ends(after: UUID, until: UUID) -> dict[str, int]:
    """How many notifications of a window ended how, or are open."""
    return dict(execute(ENDS, {"after": after, "until": until}))


def cleaned() -> dict[str, int]:
    """How many notifications that are deleted by now ended how."""
    return {end: int(count) for end, count in execute(CLEANED, {})}


def possible_duplicates(after: UUID, until: UUID) -> int:
    """Messages sent again though an earlier attempt may have gone out."""
    return int(execute(DUPLICATES, {"after": after, "until": until})[0][0])


def contradictions(after: UUID, until: UUID) -> Iterator[tuple[str, UUID, str]]:
    """What is wrong in a window: the kind, the id, the sentence."""
    for kind, statement in CONTRADICTIONS.items():
        yield from ((kind, id, sentence) for id, sentence in execute(statement, {"after": after, "until": until}))


def orphans() -> Iterator[tuple[str, UUID, str]]:
    """Rows whose owner is missing."""
    for kind, statement in ORPHANS.items():
        yield from ((kind, id, sentence) for id, sentence in execute(statement, {}))
