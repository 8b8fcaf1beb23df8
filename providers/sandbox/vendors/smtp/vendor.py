"""A relay's side of SMTP: what it takes, what it refuses, in its words. RFC 5321, 3463."""

from __future__ import annotations

import email
import email.policy
import uuid

from providers.sandbox import roles
from providers.sandbox.book import Ledger, Message
from providers.sandbox.callbacks import Callback
from providers.sandbox.roles import Word
from providers.sandbox.vendor import Vendor
from providers.sandbox.wire import HTML, Reply, Request

MAIL, RECIPIENT = "MAIL", "RCPT"  # what is asked: to take a mail, to take a recipient
USER, PASSWORD, TO = "user", "password", "to"
NO_SUCH_USER = "5.1.1 No such user here"
LATER = "4.7.0 Too many mails, try again later"
CLOSING = Reply(421, b"4.3.2 Service not available", closes=True)


def say(status: int, text: str) -> Reply:
    return Reply(status, text.encode())


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


class SmtpVendor(Vendor):
    """A mail, or a recipient that is refused, is a request; nothing is ever reported. Accounts are told apart by their user."""

    provider = "smtp"
    needs = ()

    def caller(self, request: Request) -> tuple[Ledger | None, bool]:
        user, password = (request.headers.get(name, "") for name in (USER, PASSWORD))
        for ledger in self.book.of(self.provider) if request.method in (MAIL, RECIPIENT) else ():
            known = ledger.account.credentials
            if known.get("username", "") == user:
                return ledger, known.get("password", "") == password
        return None, False

    def knows(self, user: str, password: str) -> bool:
        """Whether somebody may sign in so."""
        for ledger in self.book.of(self.provider):
            known = ledger.account.credentials
            if user and (known.get("username"), known.get("password")) == (user, password):
                return True
        self.book.count_unknown()
        return False

    def kind(self, request: Request) -> str:
        return "send"

    def answer(self, request: Request, kind: str, ledger: Ledger) -> Reply:
        address = request.headers[TO]
        if request.method == RECIPIENT:
            return self.refusal(550, 0, NO_SUCH_USER)
        mail = email.message_from_bytes(request.body, policy=email.policy.default)
        plain = mail.get_body(("plain", "html"))
        message = Message(
            id=uuid.uuid4().hex[:12].upper(),
            to=address,
            text=f"{mail['Subject'] or ''}\n{_unix(plain.get_content()) if plain else ''}",
            attempt=mail["X-Attempt-Id"],
            role=roles.of_address(address),
            content=request.body,
            status="queued",
        )
        return self.take(ledger, message)

    def refusal(self, status: int, code: int, message: str | None = None) -> Reply:
        return say(status, message or "5.7.1 Not today")

    def unauthorized(self, request: Request) -> Reply:
        return say(530, "5.7.0 Authentication required")

    def rate_limited(self) -> Reply:
        return say(451, LATER)

    def receipt(self, message: Message) -> Reply:
        return say(250, f"2.0.0 Ok: queued as {message.id}")

    def become(self, ledger: Ledger, message: Message, word: Word) -> None:
        message.status = word.value

    def callback(self, ledger: Ledger, message: Message, word: Word) -> tuple[str, Callback] | None:
        return None

    def handle(self, request: Request) -> Reply:
        reply = super().handle(request)
        return CLOSING if reply.content_type == HTML else reply  # an outage
