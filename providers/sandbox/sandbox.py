"""The whole sandbox: accounts, books, vendors, the server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from providers.sandbox import console, receivers
from providers.sandbox.accounts import Pace, SandboxAccount
from providers.sandbox.book import Book, Message
from providers.sandbox.callbacks import Senders
from providers.sandbox.counts import Counts, cast_up
from providers.sandbox.faults import Faults
from providers.sandbox.receivers import Receivers
from providers.sandbox.scheduler import Scheduler
from providers.sandbox.server import Server
from providers.sandbox.vendor import Vendor
from providers.sandbox.vendors.anymail.vendor import AnymailVendor
from providers.sandbox.vendors.apns.vendor import ApnsVendor
from providers.sandbox.vendors.aws_sms.vendor import AwsSmsVendor
from providers.sandbox.vendors.bird.vendor import BirdVendor
from providers.sandbox.vendors.courier.vendor import CourierVendor
from providers.sandbox.vendors.fcm.vendor import FcmVendor
from providers.sandbox.vendors.infrai.vendor import InfraiVendor
from providers.sandbox.vendors.infrai_email.vendor import InfraiEmailVendor
from providers.sandbox.vendors.messagebird.vendor import MessageBirdVendor
from providers.sandbox.vendors.mysmsgate.vendor import MySmsGateVendor
from providers.sandbox.vendors.plivo.vendor import PlivoVendor
from providers.sandbox.vendors.postmark.vendor import PostmarkVendor
from providers.sandbox.vendors.resend.vendor import ResendVendor
from providers.sandbox.vendors.sendgrid.vendor import SendGridVendor
from providers.sandbox.vendors.ses.vendor import SesVendor
from providers.sandbox.vendors.sinch.vendor import SinchVendor
from providers.sandbox.vendors.smtp.vendor import SmtpVendor
from providers.sandbox.vendors.telnyx.vendor import TelnyxVendor
from providers.sandbox.vendors.twilio.vendor import TwilioVendor
from providers.sandbox.vendors.vonage.vendor import VonageVendor
from providers.sandbox.vendors.vonage_sms.vendor import VonageSmsVendor
from providers.sandbox.vendors.webpush.vendor import WebPushVendor
from providers.sandbox.wire import Reply, Request, json_reply

if TYPE_CHECKING:
    from providers.sandbox.vendors.smtp.sink import Sink

VENDORS: tuple[type[Vendor], ...] = (
    TwilioVendor,
    PostmarkVendor,
    ResendVendor,
    MySmsGateVendor,
    TelnyxVendor,
    VonageVendor,
    VonageSmsVendor,
    AwsSmsVendor,
    InfraiVendor,
    MessageBirdVendor,
    BirdVendor,
    PlivoVendor,
    SinchVendor,
    SendGridVendor,
    SesVendor,
    CourierVendor,
    InfraiEmailVendor,
    AnymailVendor,
    SmtpVendor,
    FcmVendor,
    ApnsVendor,
    WebPushVendor,
)


class Sandbox:
    """Plays the vendors of some accounts, and receivers of events. The port is taken at once, requests are served from `start` on.

    Where one of them is a mail server, that listens on `smtp_port`.

    `log` gets a line per event, from several threads, without secrets and with addresses shortened.
    Raises ValueError for accounts that cannot be, OSError for a port that is taken.
    """

    def __init__(
        self,
        accounts: Sequence[SandboxAccount],
        *,
        pace: Pace = Pace(),  # noqa: B008  frozen
        host: str = "127.0.0.1",
        port: int = 0,
        smtp_port: int = 0,
        log: Callable[[str], None] | None = None,
    ) -> None:
        kinds = {kind.provider: kind for kind in VENDORS}
        for account in accounts:
            if account.provider not in kinds:
                raise ValueError(f"the sandbox cannot play {account.provider!r}, only {', '.join(kinds)}")
            if missing := [name for name in kinds[account.provider].needs if not account.credentials.get(name)]:
                raise ValueError(f"{account.slug} has no {', '.join(missing)}")
        self.pace = pace
        self.receivers = Receivers(pace)
        self._log = log
        self._book = Book(accounts, pace)
        self._scheduler = Scheduler()
        self._senders = Senders(self._scheduler)
        self._vendors = {
            name: kind(self._book, self._scheduler, self._senders, pace=pace, log=log) for name, kind in kinds.items()
        }
        self._sink = self._make_sink(host, smtp_port)
        self._server = Server(self._handle, host=host, port=port)
        self._stopped = threading.Event()

    def start(self) -> None:
        """Serve from now on, on threads of its own. A sandbox starts once."""
        self._scheduler.start()
        self._senders.start()
        self._server.start()
        if self._sink is not None:
            self._sink.start()
        self._say(f"listening on {self.url}")

    def stop(self) -> None:
        """Stop at once. Callbacks still to come are lost, and counted in the log."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._server.stop()
        if self._sink is not None:
            self._sink.stop()
        self._scheduler.stop()
        self._senders.stop()
        self._say(f"stopped; {self._scheduler.pending} reports were still to come and are lost")

    def serve_forever(self) -> None:
        """Start, and return when `stop` was called or on Ctrl-C."""
        self.start()
        try:
            self._stopped.wait()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://{self._server.host}:{self._server.port}"

    def base_url(self, slug: str) -> str:
        """What the `base_url` of this account must be. Raises KeyError."""
        provider = self._book.ledgers[slug].account.provider
        if self._sink is not None and provider == SmtpVendor.provider:
            return f"smtp://{self._sink.host}:{self._sink.port}"
        return f"{self.url}/{provider}"

    def accounts(self) -> list[dict[str, str]]:
        return [
            {"slug": slug, "provider": ledger.account.provider, "base_url": self.base_url(slug)}
            for slug, ledger in self._book.ledgers.items()
        ]

    def faults(self, slug: str) -> Faults:
        """An account's faults as they stand. Raises KeyError."""
        return self._book.ledgers[slug].faults

    def set_faults(self, slug: str, /, **changes: Any) -> Faults:
        """Change some of an account's faults from now on; None takes one back. Raises KeyError, ValueError."""
        ledger = self._book.ledgers[slug]
        with ledger.lock:
            ledger.faults = ledger.faults.changed(changes)
        self._say(f"{slug}: faults changed: {changes}")
        return ledger.faults

    def counts(self) -> Counts:
        return cast_up(self._book, pending_callbacks=self._scheduler.pending)

    def messages(self, *, account: str | None = None, to: str | None = None) -> list[tuple[str, Message]]:
        """What was taken, oldest first, with the account's slug; look-up lag and blindness do not count here.

        Raises KeyError.
        """
        ledgers = self._book.ledgers if account is None else {account: self._book.ledgers[account]}
        taken = [(slug, message) for slug, ledger in ledgers.items() for message in ledger.all()]
        taken = [pair for pair in taken if to is None or pair[1].to == to]
        return sorted(taken, key=lambda pair: pair[1].taken_at)

    def wait_idle(self, timeout_seconds: float) -> bool:
        """Wait until every callback is out, late ones too. Returns whether that came true in time."""
        return self._scheduler.wait_idle(timeout_seconds)

    def reset(self) -> None:
        """Empty the books, forget what is still to come, take back all faults."""
        self._scheduler.forget()
        self._book.clear()
        self.receivers.clear()
        self._say("reset")

    def _handle(self, request: Request) -> Reply:
        if request.path.startswith(console.PREFIX + "/"):
            return console.handle(self, request)
        if request.path.startswith(receivers.PREFIX + "/"):
            return self.receivers.handle(request)
        name, _, path = request.path.removeprefix("/").partition("/")
        vendor = self._vendors.get(name)
        if vendor is None:
            self._book.count_unknown()
            return json_reply(
                404, {"error": f"the sandbox plays {', '.join(self._vendors)}, {receivers.PREFIX} and {console.PREFIX}"}
            )
        return vendor.handle(replace(request, path=f"/{path}"))

    def _make_sink(self, host: str, port: int) -> Sink | None:
        if not self._book.of(SmtpVendor.provider):
            return None
        try:
            from providers.sandbox.vendors.smtp.sink import Sink  # aiosmtpd is not installed where nothing is tried out
        except ImportError:
            raise ValueError("a mail server is played by aiosmtpd: pip install aiosmtpd") from None
        vendor: Any = self._vendors[SmtpVendor.provider]
        return Sink(vendor.handle, vendor.knows, host=host, port=port)

    def _say(self, line: str) -> None:
        if self._log is not None:
            self._log(line)
