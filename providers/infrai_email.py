"""Infrai, e-mail; see `providers/infrai_shared.py`."""

from __future__ import annotations

from typing import ClassVar

from providers import mail_parts, reading
from providers.errors import SenderNotAllowed, UnsupportedFeature
from providers.infrai_shared import DOUBTS, STATES, InfraiService, polled, taken
from providers.mails import named
from providers.messages import (
    AttemptRef,
    Channel,
    DeliveryEvent,
    EventKind,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
    SendResult,
)

IDS = ("email_id", "message_id")  # the second as in samples of SMS
# Of e-mail no state but the first could be read. Two that only mails come to, and that can mean nothing else; whether a
# bounce is one for good is not told, so no address is suppressed for it.
MAIL_STATES = {**STATES, "bounced": EventKind.BOUNCED, "complained": EventKind.COMPLAINED}


class InfraiEmail(InfraiService):
    """`vendor` pins the mail vendor behind Infrai (`resend`, `ses`, `tencent`): without it an account here may be no other
    way out for one at Resend or SES. `useful_seconds` and the name of a recipient have no counterpart. Files, an address
    for answers and one-click unsubscribing cannot be carried, so marketing goes another way.
    """

    name = "infrai_email"
    channels = frozenset({Channel.EMAIL})
    setting_names = ("from", "vendor")
    unverified: ClassVar[tuple[str, ...]] = (
        *DOUBTS,
        "Whether a mail's state ever says more than that it was taken: no list of states could be read.",
        "Limits, the fields of a file, and whether the sender may have a name.",
        "Whether an address with letters beyond ASCII before the @ is taken; none is sent there.",
    )

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        if message.channel not in self.channels:
            raise UnsupportedFeature("this account of Infrai's sends e-mail only")
        if not self.account.settings.get("from"):
            raise SenderNotAllowed("the account names no sender")
        mail = message.mail
        if mail and (mail.reply_to or mail.attachments or mail.unsubscribe_url):
            raise UnsupportedFeature("Infrai carries no files, no address for answers and no headers")
        fields = {
            "from": mail_parts.written(*named(str(self.account.settings["from"]))),
            "to": mail_parts.recipient(message)[1],
            "subject": mail_parts.subject(message),
            "text": reading.clean(message.text),
        }
        if message.html is not None:
            fields["html"] = reading.clean(message.html)
        if vendor := self.account.settings.get("vendor"):
            fields["vendor"] = str(vendor)
        return self.post("/v1/email/send", fields, attempt.key or attempt.id)

    def send_result(self, answer: HttpResponse) -> SendResult:
        message_id, state, _ = taken(answer, IDS)
        return SendResult(message_id, state)

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return self.get("/v1/email/get", provider_message_id)

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        return polled(answer, IDS, MAIL_STATES)
