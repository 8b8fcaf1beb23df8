"""The listening side of the mail server, by aiosmtpd, on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from providers.sandbox import roles
from providers.sandbox.vendors.smtp.vendor import MAIL, PASSWORD, RECIPIENT, TO, USER
from providers.sandbox.wire import BODY_LIMIT_BYTES, Reply, Request

STOP_SECONDS = 1.0

logging.getLogger("mail.log").setLevel(logging.ERROR)  # aiosmtpd's: it logs addresses


class Sink:
    """Takes mails over loopback from `start` to `stop`. The port is taken at once. Raises OSError."""

    def __init__(
        self, handle: Callable[[Request], Reply], knows: Callable[[str, str], bool], *, host: str, port: int
    ) -> None:
        self._handle = handle
        self._knows = knows
        self._listener = socket.create_server((host, port), backlog=1024)
        self.host, self.port = self._listener.getsockname()[:2]
        self._over = asyncio.Event()
        self._served: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None

    def start(self) -> None:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._run, args=(loop,), name="sandbox-mail", daemon=True)
        self._served = (loop, thread)
        thread.start()

    def stop(self) -> None:
        if self._served is not None:
            loop, thread = self._served
            with suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(self._over.set)
            thread.join(STOP_SECONDS)
        self._listener.close()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.run_until_complete(self._serve())
        loop.close()

    async def _serve(self) -> None:
        server = await asyncio.get_running_loop().create_server(self._session, sock=self._listener)
        await self._over.wait()
        server.close()
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    def _session(self) -> SMTP:
        return SMTP(
            _Answers(self._handle),
            data_size_limit=BODY_LIMIT_BYTES,
            enable_SMTPUTF8=True,
            hostname="sandbox.invalid",
            auth_require_tls=False,
            authenticator=self._authenticate,
            loop=asyncio.get_running_loop(),
        )

    def _authenticate(
        self, server: Any, session: Any, envelope: Any, mechanism: str, data: LoginPassword
    ) -> AuthResult:
        user, password = data.login.decode(errors="replace"), data.password.decode(errors="replace")
        return AuthResult(success=self._knows(user, password), handled=False, auth_data=(user, password))


class _Answers:
    """aiosmtpd's hooks: what is answered, and how late."""

    def __init__(self, handle: Callable[[Request], Reply]) -> None:
        self._handle = handle

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:  # noqa: N802
        if roles.of_address(address).refusal:
            return await self._answer(server, self._handle(_request(RECIPIENT, session, address)))
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        [address] = envelope.rcpt_tos  # of several only the first would be in the books
        return await self._answer(server, self._handle(_request(MAIL, session, address, envelope.original_content)))

    async def _answer(self, server: Any, reply: Reply) -> str:
        await asyncio.sleep(reply.delay_seconds)
        if reply.withheld_seconds is not None:
            await asyncio.sleep(reply.withheld_seconds)
        if reply.withheld_seconds is not None or reply.dropped:
            server.transport.abort()
            await asyncio.Event().wait()  # until the connection is gone, and this with it
        return f"{reply.status} {reply.body.decode()}"


def _request(method: str, session: Any, address: str, content: bytes = b"") -> Request:
    user, password = session.auth_data or ("", "")
    return Request(method, "/", "", {USER: user, PASSWORD: password, TO: address}, content)
