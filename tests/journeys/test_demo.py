"""The demo, as a newcomer runs it."""

from __future__ import annotations

import os
import subprocess
import sys

from config.processes import ROOT, manage

OWN_SERVERS = ("DATABASE_URL", "CELERY_BROKER_URL", "REDIS_URL")


class TestDemo:
    def test_goes_as_told(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in OWN_SERVERS}

        demo = subprocess.run(
            [sys.executable, "-m", "config.launcher", "--", *manage("demo")],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

        assert demo.returncode == 0, demo.stdout + demo.stderr
        assert "accepted 7 = delivered 5 + unconfirmed 0 + failed 1" in demo.stdout
        assert "NOT AS TOLD" not in demo.stdout
