"""Where a provider fails, and the way to send there again at once."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import Breaker
from notifications.services.switch import mend_there


@admin.register(Breaker)
class BreakerAdmin(ReadOnlyAdmin):
    list_display = ("account", "country", "opened_at", "opened_until")
    list_filter = ("account", "country")
    list_select_related = ("account",)
    ordering = ("account", "country")
    actions = ("close_selected",)
    operate_permission = "notifications.change_provideraccount"

    @admin.action(description="Mended: send there again", permissions=["operate"])
    def close_selected(self, request: HttpRequest, chosen: QuerySet[Breaker]) -> None:
        for breaker in chosen:
            mend_there(breaker.account_id, breaker.country)
            messages.success(request, f"{breaker.account} sends to {breaker.country or 'everybody'} again")
