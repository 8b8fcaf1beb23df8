"""Batches: how far each is, and what can be done with it as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import Batch
from notifications.services.batch.control import BatchIsCancelled, cancel_batch, pause, resume
from notifications.services.batch.progress import progress


@admin.register(Batch)
class BatchAdmin(ReadOnlyAdmin):
    list_display = (
        "id", "state", "reference", "client", "route", "priority", "accepted_count", "skipped_count", "accepted_at",
    )  # fmt: skip
    list_filter = ("state", "client", "priority")
    list_select_related = ("client",)
    search_fields = ("id__exact", "reference__exact")
    ordering = ("-id",)
    fields = (
        "id", "state", "progress", "reference", "client", "route", "priority", "idempotency_key", "accepted_count",
        "skipped_count", "created_at", "accepted_at", "paused_at", "cancelled_at",
    )  # fmt: skip
    readonly_fields = ("progress",)
    actions = ("pause_selected", "resume_selected", "cancel_selected")
    operate_permission = "notifications.operate_notification"

    @admin.display
    def progress(self, batch: Batch) -> str:
        found = progress(batch)
        counts = {"open": found.open, **found.ends, "deleted": found.deleted}
        return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)

    @admin.action(description="Pause what has not been sent", permissions=["operate"])
    def pause_selected(self, request: HttpRequest, chosen: QuerySet[Batch]) -> None:
        self._each(request, chosen, pause)

    @admin.action(description="Resume", permissions=["operate"])
    def resume_selected(self, request: HttpRequest, chosen: QuerySet[Batch]) -> None:
        self._each(request, chosen, resume)

    @admin.action(description="Cancel what has not been sent, for good", permissions=["operate"])
    def cancel_selected(self, request: HttpRequest, chosen: QuerySet[Batch]) -> None:
        self._each(request, chosen, cancel_batch)

    def _each(self, request: HttpRequest, chosen: QuerySet[Batch], act: Callable[[Batch], Counter[str]]) -> None:
        for batch in chosen:
            try:
                counts = act(batch)
            except BatchIsCancelled:
                messages.error(request, f"{batch.id}: is cancelled, for good")
                continue
            done = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))
            messages.success(request, f"{batch.id}: {done or 'nothing to do'}")
