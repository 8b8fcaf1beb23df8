"""One connection to a mail server: smtplib's, made to know how far a mail has come."""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from email.utils import format_datetime

from providers.messages import MailRequest, MailResponse, MailSecurity, MailServer, MailStep
from providers.transport.base import ANSWER_LIMIT_BYTES
from providers.transport.connections import look_up, open_socket
from providers.transport.flights import BadAnswer, Flight

LINE_LIMIT_BYTES = 8192
AT_ONCE = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)  # the end of a mail does not wait for an acknowledgement
WORDS = {
    MailStep.GREETING: "waiting for the greeting",
    MailStep.SECURITY: "securing the connection",
    MailStep.LOGIN: "signing in",
    MailStep.SENDER: "naming the sender",
    MailStep.RECIPIENT: "naming the recipient",
    MailStep.DATA: "handing over the mail",
}

_reply_line = re.compile(rb"([2-5][0-9]{2})(?:([ -])([^\r\n]*))?\r?\n")
_first_dots = re.compile(rb"(?m)^\.")  # RFC 5321, 4.5.2: a line with one dot alone would end the mail


class MailSession(smtplib.SMTP):
    """Connects at once. What the network does is raised as it came; what the server says no to is an answer."""

    def __init__(self, server: MailServer, flight: Flight, tls: Callable[[], ssl.SSLContext]) -> None:
        self._server = server
        self._flight = flight
        self._tls = tls
        self._step = MailStep.GREETING
        self._refusal: smtplib.SMTPResponseException | None = None
        self._is_open_transaction = False
        self.mails_count = 0
        try:
            super().__init__(server.host, server.port, local_hostname="")
            self.local_hostname = server.client_name or self._own_address()
        except smtplib.SMTPConnectError as refusal:
            self._refusal = refusal
        except BaseException:
            self.close()
            raise

    def sign_in(self) -> MailResponse | None:
        """Introduce ourselves, secure the connection and say who we are. Returns the server's no; None is its yes."""
        try:
            if self._refusal is not None:
                raise self._refusal
            self._secure_and_log_in()
        except smtplib.SMTPResponseException as refusal:
            text = refusal.smtp_error
            body = text.encode(errors="replace") if isinstance(text, str) else text
            return MailResponse(refusal.smtp_code, body, self._step)
        except smtplib.SMTPException:  # not offered, or in no way that we know
            return MailResponse(0, step=self._step, lacks="STARTTLS" if self._step is MailStep.SECURITY else "AUTH")
        except BaseException:
            self.close()
            raise
        return None

    def hand_over(self, request: MailRequest, flight: Flight, now: datetime) -> MailResponse:
        """Hand over a mail, for a flight of its own."""
        self._flight = flight
        self._begin(request)
        if request.needs_smtputf8 and not self.has_extn("smtputf8"):
            return MailResponse(0, step=MailStep.SENDER, lacks="SMTPUTF8")
        mail = f"Date: {format_datetime(now)}\r\n".encode() + request.body
        self.mails_count += 1
        self._is_open_transaction = True
        questions: tuple[tuple[MailStep, Callable[[], tuple[int, bytes]], tuple[int, ...]], ...] = (
            (MailStep.SENDER, lambda: self.mail(request.sender, self._options(request, len(mail))), (250,)),
            (MailStep.RECIPIENT, lambda: self.rcpt(request.recipient), (250, 251)),
            (MailStep.DATA, lambda: self.docmd("data"), (354,)),
        )
        for step, ask, yes in questions:
            self._go_to(step)
            status, text = ask()
            if status not in yes:
                return MailResponse(status, text, step)
        return self._hand_over_data(mail)

    def say_goodbye(self) -> None:
        """Close as the protocol wants it, without waiting for an answer."""
        with suppress(OSError):
            if self.sock is not None:
                self.sock.settimeout(0)
                self.sock.send(b"QUIT\r\n")
        self.close()

    def send(self, s: object) -> None:
        """Raises what the network raises: smtplib would hide it behind one exception."""
        if self.sock is None:
            raise BadAnswer("the connection was closed")
        self.sock.sendall(s.encode(self.command_encoding) if isinstance(s, str) else s)  # type: ignore[arg-type]

    def getreply(self) -> tuple[int, bytes]:
        """Read a whole answer. Raises BadAnswer for one that is not, or not of a mail server, or without an end."""
        if self.sock is None:
            raise BadAnswer("the connection was closed")
        if self.file is None:
            self.file = self.sock.makefile("rb")
        lines, size = [], 0
        while size <= ANSWER_LIMIT_BYTES:
            line = self.file.readline(LINE_LIMIT_BYTES)
            if not line:
                raise BadAnswer("the connection was closed")
            if (found := _reply_line.fullmatch(line)) is None:
                raise BadAnswer("this is no answer of a mail server")
            lines.append(found[3] or b"")
            size += len(line)
            if found[2] != b"-":
                return int(found[1]), b"\n".join(lines)
        raise BadAnswer("the answer is too long")

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        """Called by smtplib to connect."""
        flight = self._flight
        flight.step = "looking up the name"
        addresses = look_up(host, port, flight.seconds_left())
        flight.step = "connecting"
        connection = open_socket(addresses, AT_ONCE, flight)
        if self._server.security is not MailSecurity.TLS:
            self._go_to(MailStep.GREETING)
            return connection
        self._go_to(MailStep.SECURITY)
        try:
            secured = self._tls().wrap_socket(connection, server_hostname=host)
        except BaseException:
            connection.close()
            raise
        self._go_to(MailStep.GREETING)
        return secured

    def _own_address(self) -> str:
        """What we are called without a name (RFC 5321, 4.1.3). Not socket.getfqdn, which asks DNS for as long as it takes."""
        ours = str(self.sock.getsockname()[0]) if self.sock is not None else "127.0.0.1"
        return f"[IPv6:{ours}]" if ":" in ours else f"[{ours}]"

    def _secure_and_log_in(self) -> None:
        """Raises SMTPException for a no."""
        self.ehlo_or_helo_if_needed()
        if self._server.security is MailSecurity.STARTTLS:
            self._go_to(MailStep.SECURITY)
            self.starttls(context=self._tls())
            self.ehlo_or_helo_if_needed()  # what was said before may have come from anybody
        if self._server.username:
            self._go_to(MailStep.LOGIN)
            self.login(self._server.username, self._server.password)

    def _begin(self, request: MailRequest) -> None:
        self._go_to(MailStep.SENDER)
        if self.sock is None:
            raise BadAnswer("the connection was closed")
        self._flight.hold(self.sock)
        self.sock.settimeout(self._flight.seconds_left())
        if self._is_open_transaction:
            status, _ = self.rset()
            if status != 250:
                raise BadAnswer("the transaction before could not be ended")
            self._is_open_transaction = False

    def _options(self, request: MailRequest, size: int) -> list[str]:
        options = [f"SIZE={size}"] if self.has_extn("size") else []
        return [*options, "SMTPUTF8", "BODY=8BITMIME"] if request.needs_smtputf8 else options

    def _hand_over_data(self, mail: bytes) -> MailResponse:
        """Until the last dot has left the server may not take the mail; from then on only its answer can tell."""
        self.send(_first_dots.sub(b"..", mail))
        self._flight.depart()
        self.send(b".\r\n")
        status, text = self.getreply()
        self._is_open_transaction = False
        return MailResponse(status, text, MailStep.END)

    def _go_to(self, step: MailStep) -> None:
        self._step = step
        self._flight.step = WORDS[step]
