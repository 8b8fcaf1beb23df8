"""django-post-office: its queue and its processes, with a mail backend that posts to the stub over one kept session.

`python -m tests.bench.contenders.post_office URL COUNT`, in .venv-bench
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence

import dj_database_url
import django
import requests
from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from tests.bench.contenders.manners import TEXT, form, play

CORES = len(os.sched_getaffinity(0))

if not settings.configured:  # this module is its own mail backend, and comes twice
    settings.configure(
        DATABASES={"default": dj_database_url.parse(os.environ["DATABASE_URL"])},
        INSTALLED_APPS=["django.contrib.contenttypes", "post_office"],
        POST_OFFICE={"BACKENDS": {"default": "tests.bench.contenders.post_office.Poster"}, "BATCH_SIZE": 500},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        USE_TZ=True,
    )
    django.setup()

_of_thread = threading.local()


class Poster(BaseEmailBackend):
    def send_messages(self, messages: Sequence[EmailMessage]) -> int:
        if not hasattr(_of_thread, "session"):
            _of_thread.session = requests.Session()
        for message in messages:
            name = message.extra_headers["X-Attempt"]
            answer = _of_thread.session.post(os.environ["TARGET"], data=form(name), auth=("AC0", "t"), timeout=10)
            assert answer.json()["sid"]
        return len(messages)


def main(url: str, count: int) -> None:
    from django.core.management import call_command
    from post_office.mail import send_queued_mail_until_done
    from post_office.models import PRIORITY, STATUS, Email

    os.environ["TARGET"] = url
    call_command("migrate", verbosity=0)
    Email.objects.bulk_create(
        Email(
            from_email="a@example.org",
            to=["b@example.org"],
            subject="Table",
            message=TEXT,
            status=STATUS.queued,
            priority=PRIORITY.medium,
            headers={"X-Attempt": f"post{number}-1"},
        )
        for number in range(count)
    )

    def work() -> int:
        send_queued_mail_until_done(processes=CORES)
        return Email.objects.filter(status=STATUS.sent).count()

    play(work)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
