"""Notifications, their messages, attempts and reports."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from notifications.admin.reading import ReadOnlyAdmin, ReadOnlyInline
from notifications.admin.search import as_id, messages_that_match
from notifications.duplicates import second_ones
from notifications.explanation import explain, explain_letter, shown_address, shown_state
from notifications.models import Attempt, DeadLetter, DeliveryEvent, Message, Notification, OutboxEntry
from notifications.services.cancel import cancel
from notifications.services.endpoint_replays import resend
from notifications.services.replay import CannotReplay
from notifications.services.retry_now import retry_now
from notifications.states import State
from notifications.timeline import timeline

SEARCH_LIMIT = 1000  # notifications found through their messages


class MessageInline(ReadOnlyInline):
    model = Message
    fields = (
        "step", "part", "channel", "masked_address", "state", "reason", "account", "attempt_count", "segments", "cost",
        "escalate_at",
    )  # fmt: skip
    readonly_fields = ("masked_address",)

    @admin.display(description="address")
    def masked_address(self, message: Message) -> str:
        return shown_address(message)


@admin.register(Notification)
class NotificationAdmin(ReadOnlyAdmin):
    list_display = ("id", "shown_state", "reference", "route", "priority", "client", "accepted_at", "ended_at")
    list_filter = ("end", "priority", "route", "client")
    list_select_related = ("client",)
    search_fields = ("reference",)  # see get_search_results
    search_help_text = "A number, a reference, a recipient, or a provider's id of a message; whole, not in parts."
    ordering = ("-id",)
    show_full_result_count = False
    fields = (
        "id", "explanation", "timeline", "client", "reference", "route", "priority", "category", "incident", "batch",
        "accepted_at", "send_at", "expires_at", "stopped_at", "fallback_sent_at", "end", "ended_at", "redacted_at",
    )  # fmt: skip
    readonly_fields = ("explanation", "timeline")
    inlines = (MessageInline,)
    actions = ("cancel_selected", "retry_selected", "resend_selected")
    operate_permission = "notifications.operate_notification"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Notification]:
        return super().get_queryset(request).prefetch_related("messages")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Notification], search_term: str
    ) -> tuple[QuerySet[Notification], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        messages = Message.objects.filter(messages_that_match(text)).values_list("notification_id", flat=True)
        found = Q(reference=text) | Q(id__in=list(messages[:SEARCH_LIMIT]))
        return queryset.filter(found | Q(id=as_id(text)) if as_id(text) else found), False

    @admin.display(description="state")
    def shown_state(self, notification: Notification) -> str:
        return shown_state(notification)

    @admin.display(description="in a sentence")
    def explanation(self, notification: Notification) -> str:
        return explain(notification)

    @admin.display(description="timeline")
    def timeline(self, notification: Notification) -> SafeString:
        moments = ((f"{moment.at:%Y-%m-%d %H:%M:%S.%f}"[:-3], moment.text) for moment in timeline(notification))
        return format_html_join("", "<div>{} &nbsp; {}</div>", moments)

    @admin.action(description="Cancel what has not been sent", permissions=["operate"])
    def cancel_selected(self, request: HttpRequest, chosen: QuerySet[Notification]) -> None:
        for notification_id in chosen.values_list("id", flat=True):
            results = ", ".join(result.result.replace("_", " ") for result in cancel(notification_id))
            messages.success(request, f"{notification_id}: {results}")

    @admin.action(description="Retry now what waits to be sent", permissions=["operate"])
    def retry_selected(self, request: HttpRequest, chosen: QuerySet[Notification]) -> None:
        for message_id in Message.objects.filter(notification__in=chosen, state=State.QUEUED).values_list(
            "id", flat=True
        ):
            if retry_now(message_id):
                messages.success(request, f"{message_id}: will be sent at once")
            else:
                messages.warning(request, f"{message_id}: somebody is working on it")

    @admin.action(description="Send an event again, under its webhook-id", permissions=["operate"])
    def resend_selected(self, request: HttpRequest, chosen: QuerySet[Notification]) -> None:
        for notification_id in chosen.values_list("id", flat=True):
            try:
                messages.success(request, f"{notification_id}: sent again as {resend(notification_id)}")
            except CannotReplay as error:
                messages.warning(request, f"{notification_id}: {error}")


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = (
        "number", "account", "outcome", "error", "error_code", "http_status", "provider_message_id", "began_at",
        "ended_at", "looked_up", "answer", "late_answer",
    )  # fmt: skip


class DeliveryEventInline(ReadOnlyInline):
    model = DeliveryEvent
    fields = (
        "received_at", "source", "kind", "attempt_number", "provider_status", "error_code", "occurred_at", "applied_at",
    )  # fmt: skip


class OutboxEntryInline(ReadOnlyInline):
    model = OutboxEntry
    fields = ("lane", "due_at", "claim", "strikes", "attempt", "began_at")
    verbose_name_plural = "next action"


class DeadLetterInline(ReadOnlyInline):
    model = DeadLetter
    fields = ("created_at", "what", "last_error", "resolution", "resolved_at", "resolved_by")
    readonly_fields = ("what",)

    @admin.display
    def what(self, letter: DeadLetter) -> str:
        return explain_letter(letter)


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = (
        "id", "channel", "masked_address", "state", "reason", "account", "attempt_count", "possible_duplicate",
        "created_at",
    )  # fmt: skip
    list_filter = ("channel", "state", "account")
    list_select_related = ("account",)
    search_fields = ("id",)  # see get_search_results
    search_help_text = "A number, a recipient, or a provider's id of a message; whole, not in parts."
    ordering = ("-id",)
    show_full_result_count = False
    exclude = ("address", "address_hash")
    readonly_fields = ("masked_address", "possible_duplicate")
    inlines = (OutboxEntryInline, AttemptInline, DeliveryEventInline, DeadLetterInline)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        return super().get_queryset(request).prefetch_related("attempts")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Message], search_term: str
    ) -> tuple[QuerySet[Message], bool]:
        text = search_term.strip()
        return (queryset.filter(messages_that_match(text)) if text else queryset), False

    @admin.display(description="address")
    def masked_address(self, message: Message) -> str:
        return shown_address(message)

    @admin.display(description="possible duplicate")
    def possible_duplicate(self, message: Message) -> str:
        return ", ".join(f"attempt {attempt.number}" for attempt in second_ones(message.attempts.all())) or "no"


@admin.register(DeliveryEvent)
class DeliveryEventAdmin(ReadOnlyAdmin):
    list_display = ("received_at", "account", "kind", "source", "provider_message_id", "provider_status", "applied_at")
    list_filter = ("account", "kind", "source", ("applied_at", admin.EmptyFieldListFilter))
    list_select_related = ("account",)
    search_fields = ("provider_message_id__exact",)
    ordering = ("-id",)
    show_full_result_count = False
    exclude = ("raw",)
