"""The design everybody writes: one Celery task per message, the ORM's get and save, and `requests.post`.

Its database connections are kept between tasks, which is kinder than Celery's default.
`python -m tests.bench.contenders.naive URL COUNT`
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import dj_database_url
import django
import requests
from celery import Celery
from django.conf import settings
from django.db import connection, models

from tests.bench.contenders.manners import TEXT, TO, form, play

CORES = len(os.sched_getaffinity(0))

settings.configure(DATABASES={"default": dj_database_url.parse(os.environ["DATABASE_URL"], conn_max_age=None)})
django.setup()

app = Celery("naive", broker=os.environ["CELERY_BROKER_URL"])
app.conf.update(task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=64 // CORES)


class Message(models.Model):
    to = models.CharField(max_length=20)
    text = models.TextField()
    state = models.CharField(max_length=10, default="queued", db_index=True)
    provider_id = models.CharField(max_length=50, blank=True)

    class Meta:
        app_label = "naive"


class Suppression(models.Model):
    to = models.CharField(max_length=20, unique=True)

    class Meta:
        app_label = "naive"


class Attempt(models.Model):
    message = models.ForeignKey(Message, on_delete=models.CASCADE)
    began_at = models.DateTimeField(auto_now_add=True)
    status = models.SmallIntegerField(null=True)

    class Meta:
        app_label = "naive"


@app.task(name="naive.send")
def send(message_id: int, url: str) -> None:
    message = Message.objects.get(id=message_id)
    if message.state != "queued" or Suppression.objects.filter(to=message.to).exists():
        return
    attempt = Attempt.objects.create(message=message)
    answer = requests.post(url, data=form(f"naive{message.id}-1"), auth=("AC0", "t"), timeout=10)
    attempt.status = answer.status_code
    attempt.save()
    message.state, message.provider_id = "sent", answer.json()["sid"]
    message.save()


@app.task(name="naive.warm")
def warm() -> None:
    Message.objects.exists()


def main(url: str, count: int) -> None:
    with connection.schema_editor() as editor:
        for model in (Message, Suppression, Attempt):
            editor.create_model(model)
    options = ["-A", "tests.bench.contenders.naive", "worker", "-c", str(CORES), "-Q", "warm", "--loglevel", "ERROR"]
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", *options, "--without-gossip", "--without-mingle"], stdout=sys.stderr
    )
    while not app.control.ping(timeout=0.5):
        assert worker.poll() is None
    Message.objects.bulk_create(Message(to=TO, text=TEXT) for _ in range(count))
    for id in Message.objects.values_list("id", flat=True):
        send.apply_async((id, url), queue="naive")
    for _ in range(20):
        warm.apply_async(queue="warm")
    time.sleep(1)
    play(lambda: work(count))
    worker.terminate()
    worker.wait()


def work(count: int) -> int:
    """Let the worker begin, and wait for its last row."""
    app.control.add_consumer("naive")
    ends_at = time.monotonic() + 600
    while (sent := Message.objects.filter(state="sent").count()) < count and time.monotonic() < ends_at:
        time.sleep(0.05)
    return sent


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
