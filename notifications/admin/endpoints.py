"""Endpoints: how each does, and what an operator may do about it. A secret is shown when it is made, and never again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Case, Count, IntegerField, QuerySet, Value, When
from django.http import HttpRequest
from django.utils import timezone

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import DeadLetter, WebhookEndpoint
from notifications.numbers import numbers
from notifications.services import endpoints
from notifications.services.endpoint_fields import read_new
from notifications.services.endpoint_replays import replay
from notifications.services.request import Refused
from providers.messages import Channel
from providers.transport.connections import look_up

REPLAYED = 1000  # at once, of each kind; `manage.py endpoint replay` takes any number
NEW = ("name", "url", "event_types", "owner_email")


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]
    name = forms.CharField(help_text="Small letters, digits and hyphens; nobody else's, and never given out again.")
    url = forms.CharField(label="URL", widget=forms.URLInput(attrs={"size": 60}), help_text="Where events are posted.")

    class Meta:
        model = WebhookEndpoint
        fields = ("client", *NEW)
        field_order = ("client", "name", "url")

    def said(self) -> dict[str, Any]:
        """What an endpoint is made of."""
        return {name: self.cleaned_data[name] for name in NEW if self.cleaned_data.get(name)}

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not self.errors:
            try:
                read_new(self.said(), look_up)
                endpoints.require_free(values["client"], values["name"])
            except Refused as refused:
                for error in refused.errors:
                    field = error.field.partition(".")[0]
                    self.add_error(field if field in self.fields else None, f"{error.reason} ({error.accepted})")
        return values


@admin.register(WebhookEndpoint)
class EndpointAdmin(ReadOnlyAdmin):
    form = EndpointForm
    list_display = ("name", "client", "is_on", "failing_since", "off_reason", "open_dead_letters", "owner_email")
    list_filter = ("account__is_on", "client")
    list_select_related = ("account", "client")
    search_fields = ("account__slug", "owner_email")
    ordering = ("account__slug",)
    actions = ("switch_on", "switch_off", "rotate", "send_test", "replay")
    operate_permission = "notifications.change_provideraccount"

    def get_queryset(self, request: HttpRequest) -> QuerySet[WebhookEndpoint]:
        open_letters = DeadLetter.objects.filter(resolved_at__isnull=True, message__channel=Channel.WEBHOOK)
        counts = open_letters.values_list("message__address").annotate(Count("id"))
        cases = [When(account__slug=name, then=Value(count)) for name, count in counts]
        rows: QuerySet[WebhookEndpoint] = super().get_queryset(request)
        return rows.annotate(open_letters=Case(*cases, default=Value(0), output_field=IntegerField()))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_operate_permission(request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        shown = ("name", "client", "is_on", "event_types", "owner_email", "failing_since", "warned_at", "off_reason")
        return ("client", *NEW) if obj is None else (*shown, "open_dead_letters", "created_at")

    def save_model(self, request: HttpRequest, obj: WebhookEndpoint, form: Any, change: bool) -> None:
        made, secret = endpoints.create(form.cleaned_data["client"], form.said())
        obj.pk, obj.account = made.pk, made.account
        self._show(request, obj, secret)

    @admin.display(ordering="account__slug")
    def name(self, endpoint: WebhookEndpoint) -> str:
        return endpoint.account.slug

    @admin.display(boolean=True, ordering="account__is_on")
    def is_on(self, endpoint: WebhookEndpoint) -> bool:
        return endpoint.account.is_on

    @admin.display(ordering="open_letters")
    def open_dead_letters(self, endpoint: WebhookEndpoint) -> int:
        return int(endpoint.open_letters)  # type: ignore[attr-defined]

    @admin.action(description="Switch on (what was kept goes out)", permissions=["operate"])
    def switch_on(self, request: HttpRequest, chosen: QuerySet[WebhookEndpoint]) -> None:
        for endpoint in chosen:
            endpoints.switch_on(endpoint)

    @admin.action(description="Switch off (events are kept)", permissions=["operate"])
    def switch_off(self, request: HttpRequest, chosen: QuerySet[WebhookEndpoint]) -> None:
        for endpoint in chosen:
            endpoints.stop(endpoint)

    @admin.action(description="Give a new secret (the old one signs too, for a while)", permissions=["operate"])
    def rotate(self, request: HttpRequest, chosen: QuerySet[WebhookEndpoint]) -> None:
        for endpoint in chosen:
            self._show(request, endpoint, endpoints.rotate_secret(endpoint, now=timezone.now()))

    @admin.action(description="Send a test event", permissions=["operate"])
    def send_test(self, request: HttpRequest, chosen: QuerySet[WebhookEndpoint]) -> None:
        for endpoint in chosen:
            try:
                endpoints.send_test(endpoint, now=timezone.now())
            except Refused:
                messages.error(request, f"{endpoint} is switched off")
            else:
                messages.success(request, f"{endpoint} is sent an event")

    @admin.action(description="Send again what it missed (dead letters, expired events)", permissions=["operate"])
    def replay(self, request: HttpRequest, chosen: QuerySet[WebhookEndpoint]) -> None:
        until = timezone.now()
        since = until - timedelta(days=numbers().delete_after_days)
        for endpoint in chosen:
            done = replay(endpoint, since=since, until=until, by=request.user.get_username(), most=REPLAYED)
            messages.success(request, f"{endpoint}: {done}")

    def _show(self, request: HttpRequest, endpoint: WebhookEndpoint, secret: str) -> None:
        messages.warning(request, f"The secret of {endpoint}, shown this once: {secret}")
