"""manage.py send_batch: the same service, from a shell."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command

from notifications.models import Batch
from tests.notifications.batches import DEAR, guests, row_counts, texts

pytestmark = pytest.mark.usefixtures("seeded")


def run(file: Path | str, **options: object) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("send_batch", str(file), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "guests.csv"
    path.write_text(guests(3))
    return path


def test_accepts_a_file_and_says_its_number(file):
    said, _ = run(file, content=json.dumps(DEAR), key="k1")

    assert said == f"accepted: {Batch.objects.get().id}, 3 notifications\n"
    assert texts()[0] == "Dear Guest 0"


def test_says_a_replay(file):
    said = [run(file, content=json.dumps(DEAR), key="k1")[0] for _ in range(2)]

    assert said[1] == said[0].replace("accepted:", "accepted again (replayed):")


def test_lists_bad_rows_and_accepts_nothing(file):
    file.write_text(guests(2) + "12,Eve\n")

    with pytest.raises(CommandError) as refused:
        run(file, content=json.dumps(DEAR))

    assert refused.value.returncode == 1
    assert str(refused.value).splitlines()[0] == "refused: 1 of 3 rows are at fault"
    assert "line 4, to.sms: not a phone number" in str(refused.value)
    assert row_counts() == (0, 0, 0, 0)


def test_skips_them_when_asked(file):
    file.write_text(guests(2) + "12,Eve\n")

    said, _ = run(file, batch=json.dumps({"content": DEAR, "reference": "may"}), skip_bad_rows=True)

    assert said.endswith("2 notifications, 1 rows skipped\n")
    assert Batch.objects.get().reference == "may"


def test_takes_the_fields_from_the_first_line_of_standard_input(monkeypatch):
    lines = [{"batch": {"content": DEAR}}, {"to": "+4915112345601", "variables": {"name": "Ana"}}]
    data = "\n".join(map(json.dumps, lines)).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    run("-", format="jsonl")

    assert texts() == ["Dear Ana"]


def test_tells_how_far_it_is_in_plain_lines(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text(guests(2500))

    _, told = run(path, content=json.dumps(DEAR))

    assert told.splitlines() == ["30 % checked", "70 % checked"]


def test_draws_a_bar_on_a_terminal(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text(guests(2500))
    terminal = io.StringIO()
    terminal.isatty = lambda: True

    call_command(
        "send_batch", str(path), content=json.dumps(DEAR), stdout=io.StringIO(), stderr=terminal, no_color=True
    )

    assert "\r████████████████" in terminal.getvalue()
    assert terminal.getvalue().endswith(" 80% checked\n")


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("guests.txt", {"content": "{}"}, "say --format"),
        ("guests.csv", {"content": "x"}, "--content is not a JSON object"),
        ("guests.csv", {"content": json.dumps(DEAR), "client": "nobody"}, "there is no client nobody"),
        ("guests.csv", {"skip_bad_rows": True}, "say skip_bad_rows there"),
        ("missing.csv", {"content": "{}"}, "No such file"),
    ],
)
def test_says_what_is_wrong_with_the_command(tmp_path, name, options, reason):
    if name != "missing.csv":
        (tmp_path / name).write_text(guests(1))

    with pytest.raises(CommandError, match=reason):
        run(tmp_path / name, **options)
