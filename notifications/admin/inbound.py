"""What people wrote to our numbers."""

from __future__ import annotations

from django.contrib import admin

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import InboundMessage


@admin.register(InboundMessage)
class InboundMessageAdmin(ReadOnlyAdmin):
    list_display = ("received_at", "intent", "sender", "recipient", "account")
    list_filter = ("intent", "account")
    list_select_related = ("account",)
    search_fields = ("sender__exact",)
    ordering = ("-received_at",)
    fields = ("received_at", "occurred_at", "account", "sender", "recipient", "intent", "text")
