from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from notifications.ids import new_id
from notifications.models.notification import Notification
from notifications.models.provider_account import ProviderAccount
from notifications.states import State


class Message(models.Model):
    """One part of one step of a notification: one channel, one address. Its text is rendered, never stored."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    notification = models.ForeignKey(
        Notification, on_delete=models.PROTECT, db_constraint=False, db_index=False, related_name="messages"
    )
    step = models.SmallIntegerField()  # 0 is the first
    part = models.SmallIntegerField(db_default=0)  # 0 until a step has several addresses
    channel = models.CharField(max_length=10)
    address = models.TextField(blank=True)
    address_hash = models.CharField(max_length=64, blank=True)
    country = models.CharField(max_length=2, blank=True)  # of a phone number, ISO 3166
    state = models.CharField(max_length=15, choices=State)
    reason = models.CharField(max_length=100, blank=True, db_default="")
    account = models.ForeignKey(  # of the newest attempt
        ProviderAccount, on_delete=models.PROTECT, null=True, db_constraint=False, db_index=False
    )
    tried = ArrayField(models.BigIntegerField(), db_default=[])  # accounts that refused since the last wait
    rerouted = models.BooleanField(db_default=False)  # an account could not reach the recipient; another may try, once
    attempt_count = models.SmallIntegerField(db_default=0)  # finished attempts; numbers the next one
    tries = models.SmallIntegerField(db_default=0)  # attempts that count against the limit
    checks = models.SmallIntegerField(db_default=0)  # status questions asked in this state
    not_there = models.SmallIntegerField(db_default=0)  # clear noes to "is it there?" in this state
    perhaps_sent = models.BooleanField(db_default=False)  # an attempt was unclear, and nothing has settled it yet
    escalate_at = models.DateTimeField(null=True)  # when the next step begins; null when it does not wait
    escalated_at = models.DateTimeField(null=True)  # when the step's window ran out
    receipt_deadline = models.DateTimeField(null=True)  # when waiting for proof ends; set when sent or uncertain
    segments = models.SmallIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "message"
        constraints = [
            models.UniqueConstraint(fields=["notification", "step", "part"], name="message_unique_step_and_part"),
            models.CheckConstraint(condition=models.Q(state__in=State.values), name="message_state_known"),
        ]
        # None on the state: one would make every move a full index update.
        indexes = [models.Index(fields=["address_hash"], name="message_address_hash")]

    def __str__(self) -> str:
        return str(self.id)
