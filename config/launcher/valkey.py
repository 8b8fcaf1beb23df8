"""Valkey, the broker."""

import socket
import subprocess

from config.launcher.binaries import find_valkey
from config.launcher.server import HOST, Server


class Valkey(Server):
    """A broker that keeps nothing across a stop: losing every hint is allowed, and worth testing."""

    name = "valkey"

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{HOST}:{self.port}/0"

    def _run_server(self) -> subprocess.Popen[bytes]:
        # In a file, since a password on the command line can be read by every user.
        settings = self.folder / "valkey.conf"
        settings.write_text(
            f'bind {HOST}\nport {self.port}\nrequirepass {self.password}\nsave ""\nmaxmemory-policy noeviction\n'
        )
        return self._run(find_valkey(), settings)

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                return b"+PONG" in connection.recv(64)
        except OSError:
            return False
