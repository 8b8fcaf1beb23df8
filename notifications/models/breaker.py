from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from notifications.models.provider_account import ProviderAccount


class Cause(models.TextChoices):
    """Why nothing is sent to a country through an account, and so what mends it."""

    CALLS = "calls"  # its provider failed calls; one that it does not fail mends it
    REGISTRATION = "registration"  # the sender may not be used there; a message that is taken mends it
    RECEIPTS = "receipts"  # it takes messages that do not arrive; one that arrives mends it
    OPERATOR = "operator"  # a person stopped it, and a person mends it


class Breaker(models.Model):
    """Nothing is sent to a country through an account but one probe at a time. Gone when mended."""

    account = models.ForeignKey(ProviderAccount, on_delete=models.CASCADE, related_name="breakers")
    country = models.CharField(max_length=2, blank=True)  # ISO 3166; "" where addresses have none
    cause = models.CharField(max_length=15, choices=Cause, db_default=Cause.CALLS)
    detail = models.CharField(max_length=300, blank=True, db_default="")  # what was seen, and what to do about it
    is_last_resort = models.BooleanField(db_default=False)  # used all the same where no other account can send
    calls_fail = models.BooleanField(
        db_default=False
    )  # its provider fails calls besides: no resort, until it answers one
    opened_at = models.DateTimeField(db_default=Now())
    opened_until = models.DateTimeField()  # then a message may try it

    class Meta:
        db_table = "breaker"
        constraints = [
            models.UniqueConstraint(fields=["account", "country"], name="breaker_unique_country_of_account"),
            models.CheckConstraint(condition=models.Q(cause__in=Cause.values), name="breaker_cause_known"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.country}".rstrip()
