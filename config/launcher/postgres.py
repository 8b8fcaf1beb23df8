"""PostgreSQL, the database."""

import os
import pwd
import signal
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

from config.launcher.binaries import PostgresPrograms, find_postgres
from config.launcher.server import HOST, Server, ServerDidNotStart

USER = "landfall"
DATABASE = "postgres"  # initdb makes it
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": 100,
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Nothing here need outlive the machine.
    "fsync": "off",
    "full_page_writes": "off",
}


class Postgres(Server):
    """A database that keeps its rows across a stop, as long as the machine stays up."""

    name = "postgres"
    stop_signal = signal.SIGINT  # SIGTERM would wait for every client to leave

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@{HOST}:{self.port}/{DATABASE}"

    def _run_server(self) -> subprocess.Popen[bytes]:
        if not self._data.exists():
            self._make_database()
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        # SIGKILL would leave shared memory behind; SIGQUIT ends at once, but tidily.
        return self._run(
            self._programs.folder / "postgres",
            *("-D", str(self._data), "-p", str(self.port), *settings),
            death_signal=signal.SIGQUIT,
            **self._options,
        )

    def _answers(self) -> bool:
        # The port opens before sessions are accepted, so only an answered query counts.
        query = subprocess.run(
            (self._programs.folder / "psql", "--no-psqlrc", "--command=SELECT 1"),
            env={
                "PGHOST": HOST,
                "PGPORT": str(self.port),
                "PGUSER": USER,
                "PGPASSWORD": self.password,
                "PGDATABASE": DATABASE,
            },
            capture_output=True,
            check=False,
        )
        return query.returncode == 0

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @cached_property
    def _programs(self) -> PostgresPrograms:
        return find_postgres(may_run=self._may_run, copy_to=self.folder / "programs")

    def _may_run(self, program: Path) -> bool:
        try:
            version = subprocess.run((program, "--version"), capture_output=True, check=False, **self._options)
        except PermissionError:
            return False
        return version.returncode == 0

    @cached_property
    def _options(self) -> dict[str, Any]:
        """Options of `subprocess` for every program: PostgreSQL refuses to run as root, and listens to PG… variables."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        options: dict[str, Any] = {"env": environment | {"LC_ALL": "C", "TZ": "UTC"}}
        if _is_root():
            nobody = pwd.getpwnam("nobody")
            options |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        return options

    def _make_database(self) -> None:
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(self.password)
        self._data.mkdir(mode=0o700)
        if _is_root():
            self.folder.chmod(0o755)
            for path in (self._data, password):
                os.chown(path, self._options["user"], self._options["group"])
        process = self._run(
            self._programs.folder / "initdb",
            *("-D", str(self._data), "-U", USER, "--auth=password", f"--pwfile={password}"),
            *("--encoding=UTF8", *self._programs.locale_options, "--no-sync", "--no-instructions"),
            **self._options,
        )
        if process.wait() != 0:
            raise ServerDidNotStart(f"initdb failed:\n{self._log_end()}")


def _is_root() -> bool:
    return os.geteuid() == 0
