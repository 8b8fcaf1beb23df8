"""Tables that need no more than Django's own pages."""

from __future__ import annotations

from django.contrib import admin

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import Client, Heartbeat, Incident, Route, Suppression


@admin.register(Route)
class RouteAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "steps")


@admin.register(Client)
class ClientAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "is_active", "default_route", "created_at")


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
