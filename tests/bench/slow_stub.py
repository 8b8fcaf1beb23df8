"""The stub in Python, for machines without a C compiler: what `stub.c` answers, many times slower."""

from __future__ import annotations

import asyncio
import json
import re
import time
from itertools import count

ATTEMPT = re.compile(rb"attempt%3D([^&%]+)")
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class State:
    def __init__(self) -> None:
        self.delay = 0.0
        self.base = time.time_ns()
        self.sids = count(1)
        self.reset()

    def reset(self) -> None:
        self.posts = self.first = self.last = 0
        self.arrivals: dict[bytes, tuple[int, int]] = {}

    def take(self, body: bytes) -> bytes:
        """Count a send. Returns its answer."""
        self.posts += 1
        self.last = time.time_ns()
        self.first = self.first or self.last
        if found := ATTEMPT.search(body):
            self.arrivals.setdefault(found[1], (self.last, time.monotonic_ns()))
        sid = f"SM{self.base:016x}{next(self.sids):016x}"
        filler = "A message resource is about this long. " * 16
        return json.dumps({"sid": sid, "status": "queued", "num_segments": "1", "body": filler}).encode()

    def counts(self) -> bytes:
        seen = {"posts": self.posts, "unique": len(self.arrivals), "first_ns": self.first, "last_ns": self.last}
        return json.dumps(seen).encode()

    def all_arrivals(self) -> bytes:
        return b"".join(b"%s %d %d\n" % (id, *times) for id, times in self.arrivals.items())


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, state: State) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            status, content = await respond(*head.split(b" ", 2)[:2], body, state)
            writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(content), content))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def respond(method: bytes, path: bytes, body: bytes, state: State) -> tuple[bytes, bytes]:
    if path.startswith(b"/_"):
        if path.startswith(b"/_delay"):
            state.delay = float(path.partition(b"=")[2]) / 1000
        elif path == b"/_reset":
            state.reset()
        return b"200 OK", state.all_arrivals() if path == b"/_arrivals" else state.counts()
    if method == b"POST" and path.endswith(b"/Messages.json"):
        answer = state.take(body)
        if state.delay:
            await asyncio.sleep(state.delay)
        return b"201 Created", answer
    if b"/Messages.json" in path:
        return b"200 OK", b'{"messages": [], "next_page_uri": null}'
    return b"404 Not Found", b"{}"


async def main() -> None:
    state = State()
    server = await asyncio.start_server(lambda reader, writer: serve(reader, writer, state), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
