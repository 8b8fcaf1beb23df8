"""Tables that need no more than Django's own pages."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import ApiKey, Heartbeat, Incident, Route, Suppression, Tally
from notifications.services.keys import revoke

STEPS_HELP = format_html(
    "Each step begins when the one before has not arrived in its time: <code>{}</code>. A step may go by several channels"
    " at once, and is delivered when the first has arrived, or when all have: <code>{}</code>.",
    '[{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}]',
    '[{"channels": ["push", "sms"], "need": "first", "window_seconds": 60}, {"channels": ["sms", "email"], "need": "all"}]',
)


@admin.register(Route)
class RouteAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "steps")

    def get_form(self, request: HttpRequest, obj: Route | None = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, help_texts={"steps": STEPS_HELP}, **kwargs)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Keys are made by `manage.py api_key`, which shows one once."""

    list_display = ("prefix", "client", "scopes", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = ("client", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("client",)
    exclude = ("key_hash",)
    actions = ("revoke_selected",)
    operate_permission = "notifications.change_apikey"

    @admin.action(description="Revoke", permissions=["operate"])
    def revoke_selected(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        count = revoke(chosen.values_list("id", flat=True), now=timezone.now())
        messages.success(request, f"{count} revoked")


@admin.register(Incident)
class IncidentAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("key", "started_at", "ended_at")
    list_filter = (("ended_at", admin.EmptyFieldListFilter),)
    search_fields = ("key",)


@admin.register(Suppression)
class SuppressionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("channel", "address_hash", "reason", "source", "until", "created_at")
    list_filter = ("channel", "reason")
    search_fields = ("address_hash__exact",)


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnlyAdmin):
    list_display = ("process", "beat_at")


@admin.register(Tally)
class TallyAdmin(ReadOnlyAdmin):
    """Ends of notifications that have been deleted."""

    list_display = ("day", "end", "count")
    list_filter = ("end",)
    ordering = ("-day", "end")
