"""The queue that operators work from."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import DeadLetter
from notifications.services.replay import CannotReplay, discard, replay


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "kind", "reason", "last_error", "about", "resolution", "resolved_by")
    list_filter = (("resolved_at", admin.EmptyFieldListFilter), "kind", "reason")
    search_fields = ("message__id__exact",)
    ordering = ("-id",)
    operate_permission = "notifications.operate_deadletter"
    actions = ("replay_selected", "discard_selected")

    @admin.display(description="message or task", ordering="message")
    def about(self, letter: DeadLetter) -> str:
        if letter.message_id is None:
            return letter.task
        page = reverse("admin:notifications_message_change", args=[letter.message_id])
        return format_html('<a href="{}">{}</a>', page, letter.message_id)

    @admin.action(description="Send again", permissions=["operate"])
    def replay_selected(self, request: HttpRequest, chosen: QuerySet[DeadLetter]) -> None:
        self._each(request, chosen, replay, "will be sent again")

    @admin.action(description="Discard", permissions=["operate"])
    def discard_selected(self, request: HttpRequest, chosen: QuerySet[DeadLetter]) -> None:
        self._each(request, chosen, discard, "discarded")

    def _each(self, request: HttpRequest, chosen: QuerySet[DeadLetter], act: Callable[..., None], done: str) -> None:
        for letter in chosen:
            try:
                act(letter.id, by=request.user.get_username())
                messages.success(request, f"{letter}: {done}")
            except CannotReplay as error:
                messages.error(request, f"{letter}: {error}")
