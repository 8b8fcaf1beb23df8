"""What arrives: of the last hour's messages, by account and country."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import admin
from django.db.models import Max, OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest
from django.utils import timezone

from notifications.admin.reading import ReadOnlyAdmin
from notifications.models import Arrival

HOUR = timedelta(hours=1)


@admin.register(Arrival)
class ArrivalAdmin(ReadOnlyAdmin):
    """One row for each account and country: that of its newest minute, with the hour's counts."""

    list_display = ("account", "country", "taken", "delivered", "share", "newest")
    list_display_links = None
    list_filter = ("account", "country")
    list_select_related = ("account",)
    ordering = ("account__slug", "country")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Arrival]:
        hour = Arrival.objects.filter(minute__gte=timezone.now() - HOUR)
        newest = hour.values("account", "country").annotate(newest=Max("id")).values("newest")
        same = hour.filter(account=OuterRef("account"), country=OuterRef("country")).values("account", "country")
        rows: QuerySet[Arrival] = super().get_queryset(request)
        return rows.filter(id__in=newest).annotate(
            taken=Subquery(same.annotate(sum=Sum("taken_count")).values("sum")),
            delivered=Subquery(same.annotate(sum=Sum("delivered_count")).values("sum")),
        )

    @admin.display(ordering="taken", description="Taken in an hour")
    def taken(self, row: Arrival) -> int:
        return row.taken  # type: ignore[attr-defined,no-any-return]

    @admin.display(ordering="delivered", description="Arrived soon after")
    def delivered(self, row: Arrival) -> int:
        return row.delivered  # type: ignore[attr-defined,no-any-return]

    @admin.display
    def share(self, row: Arrival) -> str:
        return f"{100 * self.delivered(row) / self.taken(row):.0f} %"

    @admin.display(ordering="minute", description="Last counted")
    def newest(self, row: Arrival) -> str:
        return f"{row.minute:%H:%M}"
