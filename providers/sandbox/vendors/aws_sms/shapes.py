"""The JSON of AWS End User Messaging and of SNS, as in the service model and in tests/providers/payloads/aws_sms/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers.sandbox.book import Message
from providers.sandbox.roles import Word
from providers.sandbox.segments import segment_count
from providers.sandbox.vendors.aws_sms.rules import Objection

SHAPES = "com.amazonaws.pinpointsmsvoicev2"
EVENTS = {
    Word.SENT: "TEXT_SUCCESSFUL",
    Word.DELIVERED: "TEXT_DELIVERED",
    Word.UNDELIVERABLE: "TEXT_CARRIER_BLOCKED",
}
DESCRIPTIONS = {
    Word.SENT: "Message has been accepted by phone carrier",
    Word.DELIVERED: "Message has been accepted by phone",
    Word.UNDELIVERABLE: "Phone carrier has blocked this message",
}
PRICE, FEE = 0.00581, 0.00302  # of a part


@dataclass(frozen=True, slots=True)
class Sms:
    sender: str
    kind: str
    configuration_set: str | None
    context: Mapping[str, str]


def sms_of(asked: Mapping[str, Any]) -> Sms:
    return Sms(
        sender=asked["OriginationIdentity"],
        kind=asked.get("MessageType", "TRANSACTIONAL"),
        configuration_set=asked.get("ConfigurationSetName"),
        context=asked.get("Context") or {},
    )


def error(objection: Objection, text: str) -> dict[str, Any]:
    content: dict[str, Any] = {"__type": f"{SHAPES}#{objection.exception}", "Message": text}
    if objection.reason is not None:
        content["Reason"] = objection.reason
    if objection.field is not None:
        content["Fields"] = [{"Name": objection.field, "Message": "does not fit"}]
    return content


def event(message: Message, word: Word, at: float) -> dict[str, Any]:
    sms: Sms = message.content
    parts = segment_count(message.text)
    content = {
        "eventType": EVENTS[word],
        "eventVersion": "1.0",
        "eventTimestamp": int(at * 1000),
        "isFinal": True,  # theirs, and yet another may follow
        "originationPhoneNumber": sms.sender,
        "destinationPhoneNumber": message.to,
        "isoCountryCode": "US",
        "mcc": "310",
        "mnc": "260",
        "messageId": message.id,
        "messageRequestTimestamp": int(message.taken_at * 1000),
        "messageEncoding": "GSM" if message.text.isascii() else "Unicode",
        "messageType": sms.kind,
        "messageStatus": EVENTS[word].removeprefix("TEXT_"),
        "messageStatusDescription": DESCRIPTIONS[word],
        "totalMessageParts": parts,
        "totalMessagePrice": round(PRICE * parts, 5),
        "totalCarrierFee": round(FEE * parts, 5),
    }
    return content | ({"context": dict(sms.context)} if sms.context else {})
