"""The short selection: real processes killed, and three books compared."""

from __future__ import annotations

import subprocess
import sys

import pytest

from config.processes import ROOT


@pytest.mark.timeout(400)
def test_nothing_is_lost_and_nothing_sent_twice() -> None:
    command = [sys.executable, "-m", "tests.faults", "--short"]
    played = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert played.returncode == 0, played.stdout + played.stderr[-3000:]
    assert "lost   0" in played.stdout
