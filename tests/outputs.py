"""Everything that a house lets out: logs, Sentry, Flower, the broker, the admin, the API, and what commands print."""

from __future__ import annotations

import gzip
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import requests
from django.contrib import admin
from django.urls import reverse

from config.processes import ROOT, manage
from tests.houses import House

PAGE_SECONDS = 30


class SentryServer:
    """Keeps what Sentry would be sent."""

    def __init__(self) -> None:
        self.envelopes: list[bytes] = []
        envelopes = self.envelopes

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                envelopes.append(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.dsn = f"http://publickey@127.0.0.1:{self._server.server_port}/1"

    @contextmanager
    def running(self) -> Iterator[SentryServer]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class BrokerTap:
    """Every command that a broker gets, as MONITOR shows them: messages, events, remote control and its answers."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._read: list[bytes] = []
        self._socket = socket.create_connection((address.hostname or "", address.port or 0))
        user, password = (address.username or "default").encode(), (address.password or "").encode()
        self._socket.sendall(b"AUTH " + user + b" " + password + b"\r\nMONITOR\r\n" if password else b"MONITOR\r\n")
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def commands(self) -> bytes:
        return b"".join(self._read)

    def _listen(self) -> None:
        while read := self._socket.recv(1 << 16):
            self._read.append(read)

    @contextmanager
    def running(self) -> Iterator[BrokerTap]:
        self._thread.start()
        try:
            yield self
        finally:
            self._socket.shutdown(socket.SHUT_RDWR)
            self._thread.join()
            self._socket.close()


@dataclass
class Outputs:
    """The outputs of a house, read when asked for."""

    house: House
    sentry_server: SentryServer
    tap: BrokerTap
    operator: requests.Session
    printed: list[bytes] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)

    def logs(self) -> bytes:
        """What every process has written to stdout and stderr."""
        return b"".join(path.read_bytes() for path in sorted(self.house.processes.logs.glob("*.log")))

    def sentry(self) -> bytes:
        """Events and transactions."""
        return b"\n".join(self.sentry_server.envelopes)

    def broker(self) -> bytes:
        return self.tap.commands()

    def flower(self) -> bytes:
        """Its pages and its API, workers and tasks one by one."""
        workers, tasks = (self._look(f"/api/{path}") for path in ("workers?refresh=1", "tasks?limit=10000"))
        failed = [id for id, task in tasks.json().items() if task["state"] == "FAILURE"]
        some = [*failed[:5], *list(tasks.json())[:5]]
        paths = ["/", "/workers", "/tasks", "/broker", "/metrics", "/api/queues/length", "/api/task/types"]
        paths += [f"/worker/{name}" for name in workers.json()]
        paths += [path for id in some for path in (f"/task/{id}", f"/api/task/info/{id}")]
        return b"\n".join([workers.content, tasks.content, *(self._look(path).content for path in paths)])

    def admin(self) -> bytes:
        """Every list, and every row's own page."""
        pages = []
        for model in admin.site._registry:
            base = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            pages.append(reverse(f"{base}_changelist"))
            keys = model._default_manager.values_list("pk", flat=True)[:60]
            pages += [reverse(f"{base}_change", args=[key]) for key in keys]
        return b"\n".join(self._open(page) for page in pages)

    def api(self) -> bytes:
        """What the API has answered."""
        return b"\n".join(self.answers)

    def commands(self) -> bytes:
        """What `run` commands have printed."""
        return b"\n".join(self.printed)

    def run(self, *arguments: str) -> str:
        """Run a management command in the house."""
        done = subprocess.run(
            manage(*arguments),
            env=self.house.processes.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            timeout=60,
            check=False,
        )
        self.printed.append(done.stdout)
        return done.stdout.decode(errors="replace")

    def _look(self, path: str) -> requests.Response:
        answer = requests.get(self.house.flower_url + path, auth=self.house.flower_login, timeout=PAGE_SECONDS)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return answer

    def _open(self, path: str) -> bytes:
        answer = self.operator.get(self.house.web_url + path, timeout=PAGE_SECONDS)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return answer.content


def logged_in(house: House, user: str, password: str) -> requests.Session:
    """An operator's browser, without the pictures."""
    session = requests.Session()
    address = f"{house.web_url}/admin/login/"
    session.get(address, timeout=PAGE_SECONDS)
    form = {"username": user, "password": password, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
    answer = session.post(address, data={**form, "next": "/admin/"}, timeout=PAGE_SECONDS)
    assert "Log out" in answer.text
    return session
