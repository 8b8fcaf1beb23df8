"""Where an account rests and why, the way to send there again at once, and the way to have it rest."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import Breaker, Cause
from notifications.services.switch import mend_there, rest_there
from notifications.sms.limits import unknown_countries


class RestForm(forms.ModelForm):  # type: ignore[type-arg]
    """Takes an account that rests there already: it does so for another reason from now on."""

    place = forms.CharField(  # by its own name it would have to be one where the account does not rest
        max_length=2,
        required=False,
        label="Country",
        help_text="Its code, such as DE; empty for addresses that have no country, as those of e-mail.",
    )
    detail = forms.CharField(
        max_length=300,
        required=False,
        label="Why",
        help_text=(
            "Nothing goes there through this account, not even to try it, until somebody mends it here."
            " Messages that no other account can send wait as long as they are of use."
        ),
    )

    class Meta:
        model = Breaker
        fields = ("account", "detail")

    def clean_place(self) -> str:
        country: str = self.cleaned_data["place"].upper()
        if country and (fault := unknown_countries([country])):
            raise forms.ValidationError(fault)
        return country


@admin.register(Breaker)
class BreakerAdmin(ReadOnlyAdmin):
    form = RestForm
    list_display = ("account", "country", "cause", "detail", "is_last_resort", "calls_fail", "opened_at", "tried_at")
    list_filter = ("cause", "account", "country")
    list_select_related = ("account",)
    ordering = ("account", "country")
    actions = ("close_selected",)
    operate_permission = "notifications.change_provideraccount"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_operate_permission(request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("account", "place", "detail") if obj is None else self.list_display

    def save_model(self, request: HttpRequest, obj: Breaker, form: Any, change: bool) -> None:
        obj.country = form.cleaned_data["place"]
        obj.pk = rest_there(obj.account_id, obj.country, obj.detail)

    @admin.display(description="Tried again at", ordering="opened_until")
    def tried_at(self, breaker: Breaker) -> Any:
        return "when mended" if breaker.cause == Cause.OPERATOR else breaker.opened_until

    @admin.action(description="Mended: send there again", permissions=["operate"])
    def close_selected(self, request: HttpRequest, chosen: QuerySet[Breaker]) -> None:
        for breaker in chosen:
            mend_there(breaker.account_id, breaker.country)
            messages.success(request, f"{breaker.account} sends to {breaker.country or 'everybody'} again")
