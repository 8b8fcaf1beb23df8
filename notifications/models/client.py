from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now

from notifications.sms.fit import OnLong
from notifications.sms.kinds import Kind
from notifications.sms.segments import MOST_SEGMENTS

INTERNAL = "internal"  # the client of Django code in this project; made by a migration
EVENTS = "events"  # the client whose notifications tell others of theirs; made by a migration


class Client(models.Model):
    """An application that may submit notifications."""

    name = models.SlugField(unique=True)
    is_active = models.BooleanField(default=True)
    default_route = models.CharField(max_length=100, blank=True, help_text="Used when a notification names no route.")
    sms_countries = ArrayField(
        models.CharField(max_length=2),
        default=list,
        db_default=[],
        blank=True,
        help_text="SMS go to these countries only; empty means all.",
    )
    sms_segments = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(MOST_SEGMENTS)],
        help_text="How many SMS a text may make; empty means as many as it takes.",
    )  # fmt: skip
    long_sms = models.CharField(
        max_length=10, choices=[(OnLong.REFUSE.value, "refuse it"), (OnLong.TRUNCATE.value, "shorten it")],
        default=OnLong.REFUSE.value, db_default=OnLong.REFUSE.value, help_text="What to do with a text that makes more.",
    )  # fmt: skip
    plain_sms = models.BooleanField(
        default=False, db_default=False,
        help_text="Write curly quotes, dashes and the like as an SMS has them, where that makes a text shorter.",
    )  # fmt: skip
    sms_kinds = ArrayField(
        models.CharField(max_length=15, choices=[(kind.value, kind.value) for kind in Kind]),
        default=list, db_default=[], blank=True,
        help_text="Kinds of numbers that SMS may go to; empty means all but landline, premium, shared-cost, personal and short ones.",
    )  # fmt: skip
    sms_hourly = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), blank=True,
        help_text='How many SMS an hour may go to a country, against toll fraud: {"DE": 5000, "*": 100}; * is each other one.',
    )  # fmt: skip
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "client"

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """One key of a client. Only its hash is stored; `prefix` tells keys apart for people."""

    client = models.ForeignKey(Client, on_delete=models.PROTECT, related_name="api_keys")
    prefix = models.CharField(max_length=20)
    key_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        db_table = "api_key"

    def __str__(self) -> str:
        return self.prefix
