"""The operators' way in. Looking is free; every action calls a service."""

from django.contrib import admin

from notifications.admin import accounts, batches, breakers, dead_letters, inbound, notifications, plain

admin.site.site_header = admin.site.site_title = "Landfall"
admin.site.index_title = "Operations"
admin.site.enable_nav_sidebar = False  # the lists are wide, and it would cover their last columns

__all__ = ["accounts", "batches", "breakers", "dead_letters", "inbound", "notifications", "plain"]
