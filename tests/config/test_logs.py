"""Whoever logs, nothing private gets through."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from config.processes import ROOT

NUMBER = "+4915112345601"
PROGRAM = f"""
import logging, django, structlog
django.setup()
structlog.get_logger("ours").error("to {NUMBER}", to=["ana@example.org"])
logging.getLogger("urllib3").error("GET %s", "http://u:hidden-pw@127.0.0.1/?To=%2B{NUMBER[1:]}")
from django.conf import settings
logging.getLogger("gunicorn.error").error(settings.SECRET_KEY)
logging.getLogger("kombu").error("%d of %s", "{NUMBER}")
try:
    raise LookupError("{NUMBER[:3]} " + "{NUMBER[3:]}")
except LookupError:
    logging.getLogger("celery").exception("failed")
    structlog.get_logger("ours").exception("failed")
"""


@pytest.mark.parametrize("as_json", ["0", "1"])
class TestLogs:
    def test_hold_no_address_and_no_secret_whoever_logs(self, as_json: str) -> None:
        environment = {
            **os.environ,
            "LOG_JSON": as_json,
            "LOG_LEVEL": "DEBUG",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )

        said = done.stderr
        assert said.count("LookupError") >= 2
        assert "a line of kombu could not be written" in said
        for name in ("ours", "urllib3", "gunicorn.error", "celery"):
            assert name in said
        shown = [line for line in said.splitlines() if "raise" not in line]
        for private in (NUMBER[1:], NUMBER[3:], "example.org", "hidden-pw", os.environ["SECRET_KEY"]):
            assert not [line for line in shown if private in line]
