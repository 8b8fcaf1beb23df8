"""The queue that operators work from."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from notifications.admin.reading import ReadOnlyAdmin
from notifications.explanation import explain_letter
from notifications.models import DeadLetter
from notifications.services.replay import CannotReplay, discard, replay

# By kind: what sending again and discarding lead to.
CHOICES = {
    DeadLetter.Kind.MESSAGE: "send it again once the cause is mended, or discard it: it stays undelivered",
    DeadLetter.Kind.HELD: "send it again: it may arrive twice; or discard it: it goes on waiting for proof",
    DeadLetter.Kind.TASK: "discard it once the cause is mended: it runs again by itself",
}


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "what", "last_error", "about", "choices", "resolution", "resolved_by")
    list_filter = (("resolved_at", admin.EmptyFieldListFilter), "kind", "reason")
    search_fields = ("message__id__exact",)
    ordering = ("-id",)
    fields = (
        "what", "choices", "about", "reason", "last_error", "created_at", "resolved_at", "resolution", "resolved_by",
    )  # fmt: skip
    readonly_fields = ("what", "choices", "about")
    operate_permission = "notifications.operate_deadletter"
    actions = ("replay_selected", "discard_selected")

    @admin.display(ordering="kind")
    def what(self, letter: DeadLetter) -> str:
        return explain_letter(letter)

    @admin.display(description="what you can do")
    def choices(self, letter: DeadLetter) -> str:
        return "" if letter.resolved_at else CHOICES[DeadLetter.Kind(letter.kind)]

    @admin.display(description="message or task", ordering="message")
    def about(self, letter: DeadLetter) -> str:
        if letter.message_id is None:
            return letter.task
        page = reverse("admin:notifications_message_change", args=[letter.message_id])
        return format_html('<a href="{}">{}</a>', page, letter.message_id)

    @admin.action(description="Send again (a held one may arrive twice)", permissions=["operate"])
    def replay_selected(self, request: HttpRequest, chosen: QuerySet[DeadLetter]) -> None:
        self._each(request, chosen, replay, "will be sent again", held="will be sent again, and may arrive twice")

    @admin.action(description="Discard (a held one goes on waiting for proof)", permissions=["operate"])
    def discard_selected(self, request: HttpRequest, chosen: QuerySet[DeadLetter]) -> None:
        self._each(request, chosen, discard, "discarded", held="discarded, and goes on waiting for proof")

    def _each(
        self, request: HttpRequest, chosen: QuerySet[DeadLetter], act: Callable[..., None], done: str, *, held: str
    ) -> None:
        for letter in chosen:
            name = f"{letter.message_id or letter.task} ({explain_letter(letter)})"
            try:
                act(letter.id, by=request.user.get_username())
                messages.success(request, f"{name}: {held if letter.kind == DeadLetter.Kind.HELD else done}")
            except CannotReplay as error:
                messages.error(request, f"{name}: {error}")
