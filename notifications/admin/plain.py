"""Tables that need no more than Django's own pages."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import ApiKey, Client, Heartbeat, Incident, Route, Suppression, Tally
from notifications.services.keys import revoke


@admin.register(Route)
class RouteAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "steps")


@admin.register(Client)
class ClientAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "is_active", "default_route", "created_at")


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
