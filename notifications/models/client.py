from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

INTERNAL = "internal"  # the client of Django code in this project; made by a migration


class Client(models.Model):
    """An application that may submit notifications."""

    name = models.SlugField(unique=True)
    is_active = models.BooleanField(default=True)
    default_route = models.CharField(max_length=100, blank=True, help_text="Used when a notification names no route.")
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
