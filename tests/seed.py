"""Fill a database with many notifications, and time the admin's lists over them.

.venv/bin/python -m config.launcher -- .venv/bin/python -m tests.seed 200000
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import django

FILL = """
WITH added AS (
    INSERT INTO notification (id, client_id, fingerprint, category, priority, reference, recipient, content, metadata,
        route, steps, on_unclear, accepted_at, send_at, expires_at, "end", ended_at)
    SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - %(count)s + i), 12, '0')
            || '7' || lpad(to_hex(i %% 4096), 3, '0') || '8' || lpad(to_hex(i), 15, '0'))::uuid,
        %(client)s, '', 'transactional', (ARRAY['critical', 'high', 'normal', 'bulk'])[i %% 4 + 1],
        CASE WHEN i %% 10 = 0 THEN 'order ' || i ELSE '' END,
        '{"sms": "+4915112345601"}', '{"sms": {"text": "seeded"}}', '{}', 'sms', '[{"channel": "sms"}]', 'hold',
        now(), now(), now() + interval '1 day',
        CASE WHEN i %% 5 = 0 THEN NULL ELSE 'delivered' END, CASE WHEN i %% 5 = 0 THEN NULL ELSE now() END
    FROM generate_series(1, %(count)s) AS i
    RETURNING id, "end"
), sent AS (
    INSERT INTO message (id, notification_id, step, channel, address, address_hash, country, state, attempt_count,
        account_id)
    SELECT id, id, 0, 'sms', '+4915112345601', md5(id::text), 'DE', coalesce("end", 'sent'), 1, %(account)s
    FROM added RETURNING id, state
), promised AS (
    INSERT INTO outbox (message_id, client_id, lane, due_at)
    SELECT id, %(client)s, 'upkeep', now() + interval '1 day' FROM sent WHERE state = 'sent'
)
INSERT INTO attempt (message_id, number, account_id, request_hash, began_at, ended_at, outcome, error, error_code,
    provider_message_id, answer, late_answer)
SELECT id, 1, %(account)s, '', now(), now(), 'taken', '', '', 'SM' || id, '', '' FROM sent"""

PAGES = (
    "notification/",
    "notification/?end__exact=delivered",
    "notification/?end__isnull=True",
    "notification/?priority__exact=high&route__exact=sms",
    "notification/?q=order 500",
    "notification/?q=%2B4915112345601",
    "notification/?p=3",
    "message/",
    "message/?state__exact=sent",
    "message/?q=SM{id}",
    "notification/{id}/change/",
    "message/{id}/change/",
    "deliveryevent/",
    "deadletter/",
)


def fill(count: int) -> None:
    """Store `count` notifications, four of five delivered, the others sent."""
    from django.db import connection

    from notifications.models import Client, ProviderAccount

    client = Client.objects.get(name="internal")
    account, _ = ProviderAccount.objects.get_or_create(
        slug="seeded", defaults={"provider": "twilio", "channels": ["sms"], "is_on": False}
    )
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"count": count, "client": client.id, "account": account.id})
        cursor.execute("ANALYZE")


def time_pages() -> Iterator[tuple[str, int, float, int]]:
    """Path, status, milliseconds (best of three) and queries of each admin page."""
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client as Browser
    from django.test.utils import CaptureQueriesContext

    from notifications.models import Notification

    browser = Browser()
    browser.force_login(get_user_model().objects.create_superuser("seed"))
    id = Notification.objects.order_by("-id")[10].id
    for page in PAGES:
        path = "/admin/notifications/" + page.format(id=id)
        best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            with CaptureQueriesContext(connection) as queries:
                status = browser.get(path).status_code
            best = min(best, time.perf_counter() - began)
        yield path, status, best * 1000, len(queries)


def main(count: int) -> None:
    os.environ["ALLOWED_HOSTS"] = "testserver"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    began = time.perf_counter()
    fill(count)
    print(f"{count:,} notifications stored in {time.perf_counter() - began:.1f} s")
    for path, status, milliseconds, queries in time_pages():
        print(f"{milliseconds:7.0f} ms {queries:3} queries  {status}  {path}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200_000)
