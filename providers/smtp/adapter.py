"""SMTP, e-mail.

RFC 5321 (SMTP), 3463 (enhanced codes), 4954 (AUTH), 6531 (addresses beyond ASCII), 8058 (unsubscribing with one click).
The answer to a mail's last line is all that anybody ever says: there are no receipts here and nothing can be asked, so a
mail that was taken ends unconfirmed, and what becomes of an unclear one its client's `on_unclear` decides.
"""

from __future__ import annotations

import re
from functools import cached_property
from urllib.parse import urlsplit

from providers.base import Provider
from providers.errors import (
    AccountError,
    AuthenticationFailed,
    InvalidRecipient,
    OutcomeUnknown,
    ProviderError,
    RecipientBusy,
    RouteRejected,
    SenderNotAllowed,
    Unavailable,
    UnsupportedFeature,
)
from providers.mails import ascii_domain, named
from providers.messages import (
    AttemptRef,
    Channel,
    MailRequest,
    MailResponse,
    MailSecurity,
    MailServer,
    MailStep,
    OutgoingMessage,
    SendResult,
)
from providers.smtp.codes import GREYLISTED_SECONDS, enhanced_code, meaning
from providers.smtp.writing import write

PORTS = {MailSecurity.STARTTLS: 587, MailSecurity.TLS: 465, MailSecurity.NONE: 25}
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
LOCAL_PART_LIMIT_BYTES = 64

_queued_as = re.compile(r"queued as <?([A-Za-z0-9.@_-]{4,100})", re.IGNORECASE)


class Smtp(Provider):
    """Any mail server, with a user or without. `security` is `starttls`, unless it says `tls` or `none`, and never falls
    back to less; a password travels in the open only to this machine. `port` follows from it.

    `from` may be `Name <address>`; `envelope_from` is where bounces go, else to that address; `client_name` is what we
    call ourselves, else our address. `useful_seconds` has no counterpart.
    """

    name = "smtp"
    channels = frozenset({Channel.EMAIL})
    abilities = frozenset()
    credential_names = ()
    optional_credential_names = ("username", "password")
    setting_names = ("host", "port", "security", "from", "envelope_from", "client_name")
    default_base_url = ""
    unverified = (
        "How long real servers keep an idle connection and how many at once they allow; 16 and 30 seconds are our guess",
        "Bounces come back as mails to `envelope_from`, and nobody reads them here: they suppress no address",
    )

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> MailRequest:
        if message.channel not in self.channels:
            raise UnsupportedFeature("SMTP carries e-mail only")
        recipient = ascii_domain(message.to)
        if len(recipient.rpartition("@")[0].encode(errors="replace")) > LOCAL_PART_LIMIT_BYTES:
            raise InvalidRecipient("the part before @ is too long")
        headers = {"Message-ID": f"<{attempt.id}@{self._sender[1].rpartition('@')[2]}>", "X-Attempt-Id": attempt.id}
        return MailRequest(
            self._server,
            self._envelope_sender,
            recipient,
            write(message, recipient, self._sender, headers, attempt.id),
            needs_smtputf8=not recipient.isascii(),
        )

    def send_result(self, answer: MailResponse) -> SendResult:
        text = answer.body.decode(errors="replace")
        if answer.step is MailStep.END and 200 <= answer.status < 300:
            queued = _queued_as.search(text)
            return SendResult(queued[1] if queued else None, enhanced_code(text) or str(answer.status))
        raise _refusal(answer, text)

    @cached_property
    def _sender(self) -> tuple[str, str]:
        return self._ours("from")

    @cached_property
    def _envelope_sender(self) -> str:
        return self._ours("envelope_from")[1] if self.account.settings.get("envelope_from") else self._sender[1]

    def _ours(self, setting: str) -> tuple[str, str]:
        """The name and address in a setting. Raises SenderNotAllowed."""
        name, address = named(str(self.account.settings.get(setting) or ""))
        try:
            address = ascii_domain(address)
        except ProviderError:
            address = ""
        if not address or not address.isascii():
            raise SenderNotAllowed(f"setting {setting} names no address in ASCII")
        return name, address

    @cached_property
    def _server(self) -> MailServer:
        """Raises AccountError."""
        settings, credentials = self.account.settings, self.account.credentials
        try:
            security = MailSecurity(settings.get("security") or MailSecurity.STARTTLS)
            address = urlsplit(self.base_url)
            host = address.hostname or str(settings.get("host") or "")
            port = address.port or int(settings.get("port") or PORTS[security])
        except ValueError:
            raise AccountError("setting port is a number, and security starttls, tls or none") from None
        if not host:
            raise AccountError("setting host is missing")
        username, password = credentials.get("username") or "", credentials.get("password") or ""
        if not (username + password).isascii():
            raise AuthenticationFailed("user and password must be ASCII")
        if username and security is MailSecurity.NONE and host not in THIS_MACHINE:
            raise AuthenticationFailed("without TLS the password would travel in the open")
        return MailServer(host, port, security, str(settings.get("client_name") or ""), username, password)


def _refusal(answer: MailResponse, text: str) -> ProviderError:
    if answer.lacks == "SMTPUTF8":
        return RouteRejected("the server takes no addresses beyond ASCII", code=answer.lacks)
    if answer.lacks:
        return AuthenticationFailed(f"the server does not offer {answer.lacks}", code=answer.lacks)
    code = enhanced_code(text) or str(answer.status)
    if not 400 <= answer.status < 600:
        kind = OutcomeUnknown if answer.step is MailStep.END else Unavailable
        return kind(f"{answer.step}: {answer.status} was not expected", code=code, http_status=answer.status)
    meant = meaning(answer.status, answer.step, text)
    return meant.error(
        f"{answer.step}: {code}",
        code=code,
        http_status=answer.status,
        retry_after_seconds=GREYLISTED_SECONDS if meant.error is RecipientBusy else None,
        suppress=meant.suppress,
    )
