"""Suppressions: what each keeps from being sent, and which addresses bounce too often."""

from __future__ import annotations

from collections.abc import Iterable

from notifications.sql.rows import execute, unique

UNSUBSCRIBED = "unsubscribed"  # from marketing by e-mail; everything else goes out as before
SOFT_BOUNCES = "soft_bounces"  # one too many; for a while


def counts(suppression: str, notification: str, *, now: str) -> str:
    """Whether a suppression keeps a notification from being sent; the first two are the names of their tables."""
    return f"""({suppression}.until IS NULL OR {suppression}.until > {now})
        AND ({suppression}.reason <> '{UNSUBSCRIBED}' OR {notification}.category = 'marketing')"""


# Mails and not reports are counted: one mail has several where it was tried again. Among the newest alone, since an address
# may have had a hundred thousand.
OFTEN_BOUNCED = """
SELECT a.address_hash FROM unnest(%(hashes)s::text[]) AS a(address_hash) CROSS JOIN LATERAL (
    SELECT array(
        SELECT id FROM message WHERE address_hash = a.address_hash AND channel = 'email' ORDER BY id DESC LIMIT %(newest)s
    ) AS ids
) newest WHERE %(bounces)s <= (
    SELECT count(DISTINCT message_id) FROM delivery_event WHERE message_id = ANY (newest.ids) AND kind = 'not_reached'
        AND received_at > greatest(now() - %(days)s * interval '1 day', (
            SELECT max(received_at) FROM delivery_event WHERE message_id = ANY (newest.ids) AND kind = 'delivered'
        ))
)"""


def often_bounced(address_hashes: Iterable[str], *, bounces: int, days: float, newest: int) -> list[str]:
    """The e-mail addresses of which so many mails, within so many days and since the last one that arrived, bounced softly."""
    asked = {"hashes": unique(address_hashes), "bounces": bounces, "days": days, "newest": newest}
    return [found for (found,) in execute(OFTEN_BOUNCED, asked)]
