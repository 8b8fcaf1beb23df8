"""A mail server that follows a script, and breaks wherever it says so."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from providers.messages import MailRequest, MailSecurity, MailServer
from tests.providers.transport.misbehaving import Peer, Server, serve

GREETING, END = "greeting", "end"
FEATURES = (b"mail.example.net", b"8BITMIME", b"SMTPUTF8", b"SIZE 1000000", b"AUTH PLAIN LOGIN")
BODY = b"To: ana@example.org\r\nSubject: Hi\r\n\r\nhello\r\n.\r\nworld\r\n"

Turn = bytes | Callable[[Peer], None]


@dataclass
class Heard:
    """What the server was told, over all connections."""

    commands: list[bytes] = field(default_factory=list)
    mails: list[bytes] = field(default_factory=list)

    def verbs(self) -> list[bytes]:
        return [command.split(b" ")[0].upper() for command in self.commands]


def features(*names: bytes) -> bytes:
    lines = [b"250-" + name for name in names[:-1]] + [b"250 " + names[-1]]
    return b"\r\n".join(lines) + b"\r\n"


USUAL: Mapping[str, Turn] = {
    GREETING: b"220 mail.example.net ESMTP\r\n",
    "EHLO": features(*FEATURES),
    "AUTH": b"235 2.7.0 Accepted\r\n",
    "MAIL": b"250 2.1.0 Ok\r\n",
    "RCPT": b"250 2.1.5 Ok\r\n",
    "DATA": b"354 Go on\r\n",
    END: b"250 2.0.0 Ok: queued as 4BXyz\r\n",
    "RSET": b"250 2.0.0 Ok\r\n",
    "QUIT": b"221 2.0.0 Bye\r\n",
}


def close(peer: Peer) -> None:
    raise OSError("closes")


def hang(peer: Peer) -> None:
    peer.wait()


def drip(peer: Peer) -> None:
    peer.drip(b"250-" + b"x" * 500)


def reset(peer: Peer) -> None:
    peer.reset()
    raise OSError("has reset")


@contextmanager
def mail_server(
    *scripts: Mapping[str, Turn], tls: ssl.SSLContext | None = None, starttls: ssl.SSLContext | None = None
) -> Iterator[tuple[Server, Heard]]:
    """One script for each connection in turn, the last for all others; each says where it differs from the usual."""
    heard = Heard()

    def behave(peer: Peer) -> None:
        script = {**USUAL, **(scripts[min(peer.number, len(scripts)) - 1] if scripts else {})}
        _take(peer, script[GREETING])
        lines = peer.connection.makefile("rb")
        while line := lines.readline().strip(b"\r\n"):
            heard.commands.append(line)
            verb = line.split(b" ")[0].upper().decode(errors="replace")
            if verb == "STARTTLS" and starttls is not None:
                peer.send(b"220 Ready\r\n")
                peer.connection = starttls.wrap_socket(peer.connection, server_side=True)
                lines = peer.connection.makefile("rb")
                script["EHLO"] = features(*FEATURES)
                continue
            _take(peer, script.get(verb, b"502 5.5.2 Not here\r\n"))
            if verb == "DATA" and script["DATA"] == USUAL["DATA"]:
                content = []
                while (part := lines.readline()) not in (b".\r\n", b""):
                    content.append(part)
                if part:
                    heard.mails.append(b"".join(content))
                    _take(peer, script[END])

    with serve(behave, tls) as server, contextlib.suppress(OSError):
        yield server, heard


def _take(peer: Peer, turn: Turn) -> None:
    if isinstance(turn, bytes):
        peer.send(turn)
    else:
        turn(peer)


def mail(server: Server, security: MailSecurity = MailSecurity.NONE, **changes: object) -> MailRequest:
    fields = {
        "username": "",
        "password": "",
        **{name: str(changes.pop(name)) for name in ("username", "password") if name in changes},
    }
    place = MailServer("127.0.0.1", server.port, security, "", **fields)
    request = {"sender": "no-reply@example.com", "recipient": "ana@example.org", "body": BODY, **changes}
    return MailRequest(place, **request)  # type: ignore[arg-type]
