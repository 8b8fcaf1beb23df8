"""Receivers of events as a program of its own: those that take them, one that answers 500, one that never answers.

It prints two ports: one where it listens, and one where nobody does until `/_mend`; from then on all take what comes.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time

ID = re.compile(rb"webhook-id: *([^\r\n]+)", re.IGNORECASE)
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
SILENCE_SECONDS = 3600


class State:
    def __init__(self) -> None:
        self.is_mended = False
        self.arrivals: list[tuple[bytes, bytes, float]] = []  # path, id, seconds since 1970

    def listed(self) -> bytes:
        return b"".join(b"%s %s %.6f\n" % arrival for arrival in self.arrivals)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, state: State, mend: asyncio.Event) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = LENGTH.search(head)
            await reader.readexactly(int(length[1]) if length else 0)
            path = head.split(b" ", 2)[1]
            status, content = b"200 OK", b"{}"
            if path == b"/_arrivals":
                content = state.listed()
            elif path == b"/_mend":
                state.is_mended = True
                mend.set()
            elif path == b"/_reset":
                state.__init__()  # type: ignore[misc]
            elif path.startswith(b"/hang") and not state.is_mended:
                await asyncio.sleep(SILENCE_SECONDS)
            elif path.startswith(b"/fail") and not state.is_mended:
                status = b"500 Internal Server Error"
            elif found := ID.search(head):
                state.arrivals.append((path, found[1], time.time()))
            writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(content), content))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    state, mend = State(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer, state, mend)

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        print(server.sockets[0].getsockname()[1], closed.getsockname()[1], flush=True)
        await mend.wait()
        late = await asyncio.start_server(answer, sock=closed)
        async with server, late:
            await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
