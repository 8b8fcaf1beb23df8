"""The tables: fields, constraints, indexes. What must be true is a constraint with a name that says it."""

from notifications.models.arrival import Arrival
from notifications.models.attempt import Attempt, Outcome
from notifications.models.batch import Batch, SkippedRow
from notifications.models.breaker import Breaker, Cause
from notifications.models.client import ApiKey, Client
from notifications.models.dead_letter import DeadLetter
from notifications.models.delivery_event import DeliveryEvent
from notifications.models.heartbeat import Heartbeat, ScanPosition
from notifications.models.inbound_message import InboundMessage
from notifications.models.incident import Incident
from notifications.models.message import Message
from notifications.models.notification import Category, Notification, OnUnclear
from notifications.models.outbox import OutboxEntry
from notifications.models.pace import Pace
from notifications.models.provider_account import Counted, ProviderAccount
from notifications.models.route import Route
from notifications.models.sms_count import SmsCount
from notifications.models.suppression import Suppression
from notifications.models.tally import Tally
from notifications.models.webhook_endpoint import WebhookEndpoint

__all__ = [
    "ApiKey",
    "Arrival",
    "Attempt",
    "Batch",
    "Breaker",
    "Category",
    "Cause",
    "Client",
    "Counted",
    "DeadLetter",
    "DeliveryEvent",
    "Heartbeat",
    "InboundMessage",
    "Incident",
    "Message",
    "Notification",
    "OnUnclear",
    "OutboxEntry",
    "Outcome",
    "Pace",
    "ProviderAccount",
    "Route",
    "ScanPosition",
    "SkippedRow",
    "SmsCount",
    "Suppression",
    "Tally",
    "WebhookEndpoint",
]
