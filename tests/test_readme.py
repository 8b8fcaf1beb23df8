"""What the README tells people to type, typed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from celery import current_app
from django.core.management import call_command
from django.test import RequestFactory
from django_celery_beat.models import PeriodicTask

from notifications.models import Batch, Client, Notification
from notifications.numbers import BODY_BYTES, numbers
from notifications.services import mail_fields, request
from notifications.services.keys import Scope, make_key

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block(language: str, containing: str) -> str:
    """The one block of a language that contains a text."""
    (found,) = [text for kind, text in BLOCK.findall(README.read_text()) if kind == language and containing in text]
    return found


def run(containing: str) -> dict[str, Any]:
    """Run a Python block as it stands. Returns its names."""
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(block("python", containing), "README.md", "exec"), names)
    return names


def curl(command: str) -> requests.Response:
    """Do what a curl command of ours does."""
    url, *options = shlex.split(command.replace("\\\n", " "))[1:]
    values = list(zip(options[::2], options[1::2], strict=True))
    headers = dict(value.split(": ", 1) for option, value in values if option == "-H")
    data = "".join(value for option, value in values if option == "-d").encode()
    data += b"".join(
        Path(value.removeprefix("@")).read_bytes() for option, value in values if option == "--data-binary"
    )
    return requests.request("POST" if data else "GET", url, headers=headers, data=data, timeout=5)


class TestView:
    def test_accepts_a_notification(self, seeded):
        view = run("def table_ready")["table_ready"]

        response = view(RequestFactory().get("/", {"booking": "7"}))

        assert response.status_code == 202
        assert response.content.decode() == str(Notification.objects.get().id)

    def test_accepts_one_for_one_booking(self, seeded):
        view = run("def table_ready")["table_ready"]

        for _ in range(2):
            view(RequestFactory().get("/", {"booking": "7"}))

        assert Notification.objects.count() == 1


class TestBeatJob:
    @pytest.fixture
    def job(self) -> Iterator[Any]:
        yield run("def daily_summary")["daily_summary"]
        current_app.tasks.pop("shop.daily_summary")

    def test_sends_once_a_day_however_often_it_runs(self, seeded, job):
        for _ in range(2):
            job()

        assert Notification.objects.get().content["email"]["text"] == "12 tables, 31 guests"

    def test_stands_in_the_admin_where_it_can_be_changed(self, seeded, admin_client, job):
        run("PeriodicTask.objects")

        task = PeriodicTask.objects.get(name="daily summary")
        page = admin_client.get("/admin/django_celery_beat/periodictask/").content.decode()
        assert task.task == job.name
        assert "daily summary" in page


class TestCurl:
    def test_submits_and_finds(self, seeded, live_server):
        key = make_key(Client.objects.create(name="shop"), list(Scope))

        def as_written(containing: str) -> requests.Response:
            command = block("sh", containing).replace("http://localhost:8000", live_server.url)
            return curl(command.replace("$KEY", key))

        submitted = as_written("Idempotency-Key: table-7")
        found = as_written("reference=")

        assert submitted.status_code == 202, submitted.text
        assert [item["id"] for item in found.json()["items"]] == [submitted.json()["id"]]


class TestManyAtOnce:
    @pytest.fixture
    def guests(self, seeded, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("guests.csv").write_text(block("csv", "to,name"))

    def test_curl_sends_a_file(self, guests, live_server):
        key = make_key(Client.objects.create(name="shop"), list(Scope))
        command = block("sh", "--data-binary").replace("http://localhost:8000", live_server.url)

        answer = curl(command.replace("$KEY", key))

        assert answer.status_code == 202, answer.text
        assert answer.json()["accepted"] == 2
        assert Notification.objects.first().content == {"sms": {"text": "Dear Ana, table 7 is ready"}}

    def test_a_command_does(self, guests):
        call_command(*shlex.split(block("sh", "send_batch"))[2:])

        assert Batch.objects.get().accepted_count == 2

    def test_json_lines_bring_their_fields(self, guests):
        Path("guests.jsonl").write_text(block("jsonl", "batch"))

        call_command("send_batch", "guests.jsonl")

        texts = [notification.content["email"]["text"] for notification in Notification.objects.order_by("id")]
        assert texts == ["Code 4711", "Code 0815"]


class TestEmail:
    def test_is_accepted_as_it_stands(self):
        email = json.loads(block("json", "invoice.pdf"))

        assert request.read({"to": {"email": "ana@example.org"}, "content": {"email": email}}).content.email.attachments


class TestLimits:
    def test_are_the_ones_in_force(self):

        text = README.read_text()

        for limit in (
            request.SMS_TEXT_CHARACTERS,
            mail_fields.HTML_BYTES,
            mail_fields.FILES_BYTES,
            request.METADATA_BYTES,
        ):
            assert f"{limit:,}" in text
        for limit in (
            mail_fields.SUBJECT_CHARACTERS,
            mail_fields.NAME_CHARACTERS,
            mail_fields.FILES,
            request.KEY_CHARACTERS,
            request.SEND_AT_DAYS,
        ):
            assert f"{limit} " in text
        assert BODY_BYTES == 1024 * 1024
        assert "1 MiB" in text
        assert f"{numbers().batch_bytes // 1024**2} MiB, {numbers().batch_rows:,} rows" in text
