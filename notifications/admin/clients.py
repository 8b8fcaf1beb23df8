"""Clients: what each may send, and to whom."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin

from notifications.models import Client
from notifications.sms.kinds import Kind
from notifications.sms.limits import limit_faults, unknown_countries
from notifications.sms.numbers import KINDS


class ClientForm(forms.ModelForm):  # type: ignore[type-arg]
    sms_kinds = forms.MultipleChoiceField(
        choices=[(kind.value, kind.value.replace("_", " ")) for kind in Kind if kind in KINDS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=Client._meta.get_field("sms_kinds").verbose_name.capitalize(),
        help_text=Client._meta.get_field("sms_kinds").help_text,
    )

    class Meta:
        model = Client
        fields = (
            "name", "is_active", "default_route", "sms_countries", "sms_kinds", "sms_hourly", "sms_segments", "long_sms",
            "plain_sms",
        )  # fmt: skip

    def clean_sms_countries(self) -> list[str]:
        codes: list[str] = self.cleaned_data["sms_countries"]
        if fault := unknown_countries(codes):
            raise forms.ValidationError(fault)
        return codes

    def clean_sms_hourly(self) -> dict[str, Any]:
        limits = self.cleaned_data["sms_hourly"]
        if limits is None:  # left empty
            return {}
        if faults := [*limit_faults(limits)]:
            raise forms.ValidationError(faults)
        return dict(limits)


@admin.register(Client)
class ClientAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = ClientForm
    list_display = ("name", "is_active", "default_route", "created_at")
