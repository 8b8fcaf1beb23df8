"""Infrai, SMS; see `providers/infrai_shared.py`."""

from __future__ import annotations

from typing import ClassVar

from providers import reading
from providers.infrai_shared import DOUBTS, STATES, InfraiService, polled, taken
from providers.messages import (
    AttemptRef,
    Channel,
    DeliveryEvent,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
    SendResult,
)

IDS = ("sms_id", "message_id")  # the first in their documentation, the second in samples


class Infrai(InfraiService):
    """`useful_seconds` has no counterpart. `from` may be left out: then they choose. `vendor` pins a carrier behind them."""

    name = "infrai"
    channels = frozenset({Channel.SMS})
    setting_names = ("from", "senders", "vendor")
    unverified: ClassVar[tuple[str, ...]] = (
        *DOUBTS,
        "A message's id is read as sms_id or message_id, its state as state or status: pages and samples disagree.",
        "The status route and the names of states are from samples.",
    )

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        self.require_plain_sms(message)
        fields = {"to": message.to, "body": reading.clean(message.text)}
        if sender := self.sender_for(message.country):
            fields["from"] = sender
        if vendor := self.account.settings.get("vendor"):
            fields["vendor"] = str(vendor)
        return self.post("/v1/sms/send", fields, attempt.key or attempt.id)

    def send_result(self, answer: HttpResponse) -> SendResult:
        message_id, state, record = taken(answer, IDS)
        return SendResult(message_id, state, reading.number(record.get("segments")) or None)

    def status_request(self, provider_message_id: str) -> HttpRequest:
        return self.get("/v1/sms/status", provider_message_id)

    def status_result(self, answer: HttpResponse) -> list[DeliveryEvent]:
        return polled(answer, IDS, STATES)
