"""What the admin's pages share."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest


class ReadOnly:
    """History is looked at, never edited."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    actions_on_bottom = True
    operate_permission = ""  # who may use the actions: a permission of its own, since nobody may change rows

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return bool(self.operate_permission) and request.user.has_perm(self.operate_permission)


class ReadOnlyInline(ReadOnly, admin.TabularInline):  # type: ignore[type-arg]
    extra = 0
    show_change_link = True
