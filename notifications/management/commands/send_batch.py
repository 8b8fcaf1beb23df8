from __future__ import annotations

import json
import shutil
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from notifications.models.client import INTERNAL
from notifications.services.batch.accept import AcceptedBatch, accept_batch
from notifications.services.batch.faults import BadRows
from notifications.services.batch.rows import Format
from notifications.services.request import Refused

FORMATS = {".csv": Format.CSV, ".jsonl": Format.JSONL, ".ndjson": Format.JSONL}
BAR = 40  # characters


class Command(BaseCommand):
    help = (
        "Accept a file with many notifications, all or none, e.g. manage.py send_batch guests.csv"
        """ --content '{"sms": {"text": "Dear {name}, your table is ready"}}'"""
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help=f"{', '.join(FORMATS)}; - reads from standard input")
        parser.add_argument("--format", choices=list(Format), help="default: by the file's name")
        parser.add_argument("--content", metavar="JSON", help="what to say, by channel, with {variables}")
        parser.add_argument(
            "--batch", metavar="JSON", help='all fields; without both, {"batch": {…}} is the file\'s first line'
        )
        parser.add_argument("--client", default=INTERNAL)
        parser.add_argument("--key", help="idempotency key")
        parser.add_argument("--skip-bad-rows", action="store_true", help="accept the others")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with _opened(options["file"]) as (file, size), _Progress(self.stderr, size) as tell:
                accepted = accept_batch(
                    file,
                    _format(options["file"], options["format"]),
                    _fields(options),
                    idempotency_key=options["key"],
                    client_name=options["client"],
                    now=timezone.now(),
                    tell=tell,
                )
        except Refused as refused:
            raise CommandError(_said(refused)) from None
        except KeyError:
            raise CommandError(f"there is no client {options['client']}") from None
        self.stdout.write(_summary(accepted))


def _summary(accepted: AcceptedBatch) -> str:
    skipped = f", {accepted.skipped_count} rows skipped" if accepted.skipped_count else ""
    replay = " again (replayed)" if accepted.replayed else ""
    return f"accepted{replay}: {accepted.id}, {accepted.accepted_count} notifications{skipped}"


def _said(refused: Refused) -> str:
    lines = [f"  {error}" for error in refused.errors]
    if isinstance(refused, BadRows):
        return "\n".join([f"refused: {refused.bad_count} of {refused.row_count} rows are at fault", *lines])
    return "\n".join(["refused", *lines])


@contextmanager
def _opened(name: str) -> Iterator[tuple[IO[bytes], int]]:
    """A file that can be read twice, and its size."""
    try:
        with tempfile.TemporaryFile() if name == "-" else Path(name).open("rb") as file:
            if name == "-":
                shutil.copyfileobj(sys.stdin.buffer, file)
            size = file.seek(0, 2)
            yield file, size
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from None


def _format(name: str, given: str | None) -> Format:
    found = Format(given) if given else FORMATS.get(Path(name).suffix.lower())
    if found is None:
        raise CommandError(f"say --format, one of {', '.join(Format)}")
    return found


def _fields(options: dict[str, Any]) -> dict[str, Any] | None:
    """The batch's fields; None where they are in the file."""
    fields = _json("--batch", options["batch"]) if options["batch"] else {}
    if options["content"]:
        fields["content"] = _json("--content", options["content"])
    if fields and options["skip_bad_rows"]:
        fields["skip_bad_rows"] = True
    if options["skip_bad_rows"] and not fields:
        raise CommandError("with the fields in the file, say skip_bad_rows there")
    return fields or None


def _json(option: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise CommandError(f"{option} is not a JSON object")
    return value


class _Progress:
    """A bar on a terminal, else a line for each tenth."""

    def __init__(self, out: Any, size: int) -> None:
        self._out = out
        self._size = size
        self._tenth = 0
        self._has_bar = False

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._has_bar:
            self._out.write("")

    def __call__(self, position: int) -> None:
        share = position / self._size if self._size else 1
        if self._out.isatty():
            self._has_bar = True
            filled = round(share * BAR)
            self._out.write(f"\r{'█' * filled}{'░' * (BAR - filled)} {share:4.0%} checked", ending="")
        elif int(share * 10) > self._tenth:
            self._tenth = int(share * 10)
            self._out.write(f"{self._tenth * 10} % checked")
