"""The operators' way in. Looking is free; every action calls a service."""

from django.contrib import admin

from notifications.admin import (
    accounts,
    arrivals,
    batches,
    breakers,
    clients,
    dead_letters,
    endpoints,
    inbound,
    notifications,
    plain,
)

admin.site.site_header = admin.site.site_title = "Landfall"
admin.site.index_title = "Operations"
admin.site.enable_nav_sidebar = False  # the lists are wide, and it would cover their last columns

__all__ = [
    "accounts",
    "arrivals",
    "batches",
    "breakers",
    "clients",
    "dead_letters",
    "endpoints",
    "inbound",
    "notifications",
    "plain",
]
