"""Provider accounts: switched on and off, opened and closed; credentials go in and never come out."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from notifications.accounts import webhook_url
from notifications.admin.explain import who_would_send
from notifications.models import ProviderAccount
from notifications.prices import InvalidPrices, read_prices
from notifications.services.switch import mend, switch
from providers.messages import Channel
from providers.registry import PROVIDERS


class SecretJSONField(forms.JSONField):
    """Takes a value in and never shows one."""

    def prepare_value(self, value: Any) -> str:
        return value if isinstance(value, str) else ""


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]
    provider = forms.ChoiceField(
        choices=[(name, name) for name, kind in PROVIDERS.items() if Channel.WEBHOOK not in kind.channels]
    )
    credentials = SecretJSONField(
        required=False,
        widget=forms.Textarea,
        help_text="As a JSON object. Never shown again; empty keeps what is stored.",
    )

    class Meta:
        model = ProviderAccount
        fields = (
            "slug", "provider", "channels", "is_on", "priority", "weight", "countries", "denied_countries",
            "prices", "rate", "sender_rate", "rate_counts", "rate_burst", "credentials", "settings", "base_url",
        )  # fmt: skip

    def clean_prices(self) -> Any:
        prices = {} if self.cleaned_data["prices"] is None else self.cleaned_data["prices"]
        try:
            read_prices(prices)
        except InvalidPrices as error:
            raise forms.ValidationError(str(error)) from None
        return prices

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        provider = PROVIDERS.get(values.get("provider", ""))
        if provider is None:
            return values
        credentials = values.get("credentials") or self.instance.credentials
        values["credentials"] = credentials
        if not isinstance(credentials, dict) or not all(isinstance(value, str) for value in credentials.values()):
            self.add_error("credentials", "Give a JSON object of strings.")
        elif missing := [name for name in provider.credential_names if not credentials.get(name)]:
            self.add_error("credentials", f"Missing for {provider.name}: {', '.join(missing)}.")
        if unknown := set(values.get("channels") or []) - set(provider.channels):
            self.add_error("channels", f"{provider.name} does not send {', '.join(sorted(unknown))}.")
        return values


@admin.register(ProviderAccount)
class ProviderAccountAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = AccountForm
    list_display = ("slug", "provider", "channels", "is_on", "priority", "weight", "opened_until", "opened_reason")
    list_filter = ("is_on", "provider", ("opened_at", admin.EmptyFieldListFilter))
    readonly_fields = ("webhook_address", "nobody_could_check", "opened_at", "opened_until", "opened_reason")
    fieldsets = (
        (None, {"fields": ("slug", "provider", "channels", "is_on", "credentials", "settings", "base_url")}),
        ("Routing", {"fields": ("priority", "weight", "countries", "denied_countries", "prices")}),
        (
            "Rates",
            {
                "fields": ("rate", "sender_rate", "rate_counts", "rate_burst"),
                "description": "What is more than the account may send waits for its turn: it costs no try.",
            },
        ),
        ("State", {"fields": readonly_fields}),
    )
    actions = ("switch_on", "switch_off", "close_selected")

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.who_would_send)
        return [path("who-would-send/", view, name="notifications_provideraccount_who_would_send"), *super().get_urls()]

    def who_would_send(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return who_would_send(request, site=self.admin_site, model=self.model)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProviderAccount]:
        """All but endpoints, which have a list of their own."""
        return super().get_queryset(request).exclude(channels=[Channel.WEBHOOK.value])

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="Webhook address")
    def webhook_address(self, account: ProviderAccount) -> str:
        return webhook_url(account) if account.pk else "shown when it is saved"

    @admin.display
    def nobody_could_check(self, account: ProviderAccount) -> str:
        known = PROVIDERS.get(account.provider)
        return "\n".join(known.unverified) if known and known.unverified else "–"

    @admin.action(description="Switch on", permissions=["change"])
    def switch_on(self, request: HttpRequest, chosen: QuerySet[ProviderAccount]) -> None:
        switch(chosen.values_list("id", flat=True), on=True)

    @admin.action(description="Switch off (look-ups and receipts go on)", permissions=["change"])
    def switch_off(self, request: HttpRequest, chosen: QuerySet[ProviderAccount]) -> None:
        switch(chosen.values_list("id", flat=True), on=False)

    @admin.action(description="Mended: send through it again", permissions=["change"])
    def close_selected(self, request: HttpRequest, chosen: QuerySet[ProviderAccount]) -> None:
        for account in chosen:
            mend(account.id)
            messages.success(request, f"{account} is in use again")
