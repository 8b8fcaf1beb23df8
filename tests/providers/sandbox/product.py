"""The product as a vendor sees it: a place that gets callbacks and answers them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class Call:
    url: str  # in full, as the vendor called it
    headers: dict[str, str]  # by lower-case name
    body: bytes
    method: str = "POST"

    @property
    def form(self) -> dict[str, str]:
        return {name: value for name, [value] in parse_qs(self.body.decode(), keep_blank_values=True).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def word(self) -> str:
        """MessageStatus, RecordType or type."""
        if not self.body.startswith(b"{"):
            return self.form["MessageStatus"]
        return self.json.get("RecordType") or self.json["type"]


class Product:
    """Answers callback number n (0 is the first) with `status(n)`; None closes the connection without an answer."""

    def __init__(self) -> None:
        self.status: Callable[[int], int | None] = lambda number: 200
        self.calls: list[Call] = []
        self._changed = threading.Condition()
        product = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status = product.hear(Call(f"http://{headers['host']}{self.path}", headers, body, self.command))
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST  # noqa: N815  as http.server asks

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def hear(self, call: Call) -> int | None:
        with self._changed:
            self.calls.append(call)
            self._changed.notify_all()
            return self.status(len(self.calls) - 1)

    def wait_for(self, count: int) -> list[Call]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.calls) >= count, PATIENCE_SECONDS), self.words
            return list(self.calls)

    @property
    def words(self) -> list[str]:
        return [call.word for call in self.calls]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
