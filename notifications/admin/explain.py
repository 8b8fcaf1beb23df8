"""Who would send to an address, asked on a page of the provider accounts. Sends nothing, and keeps no address."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import capfirst
from django.views.decorators.debug import sensitive_post_parameters

from notifications.accounts import accounts
from notifications.addresses import InvalidAddress
from notifications.devices import DEVICE_CHARACTERS
from notifications.services.route import Explained, explain

TITLE = "Who would send?"


class AddressForm(forms.Form):
    """Its `address` comes out explained."""

    address = forms.CharField(
        max_length=DEVICE_CHARACTERS,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off", "autofocus": True}),
        help_text="A phone number, a mailbox, or a device with its push service, such as fcm:TOKEN. Nothing is sent.",
    )

    def clean_address(self) -> Explained:
        accounts.forget()  # whoever asks may have changed one a moment ago
        try:
            return explain(self.cleaned_data["address"], accounts.all(), region=settings.DEFAULT_REGION)
        except InvalidAddress as error:
            raise forms.ValidationError(f"{capfirst(error.reason)}; accepted is {error.accepted}.") from None


@sensitive_post_parameters("address")
def who_would_send(request: HttpRequest, *, site: AdminSite, model: type[Model]) -> HttpResponse:
    """The form, and under it what it was last asked. An address is posted, since those in URLs end up in logs."""
    form = AddressForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": TITLE,
        "opts": model._meta,
        "form": form,
        "explained": form.cleaned_data["address"] if form.is_valid() else None,
    }
    return TemplateResponse(request, "admin/notifications/provideraccount/who_would_send.html", context)
