"""API keys as ninja wants them."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from notifications.models import ApiKey
from notifications.services.keys import Scope, authenticate


class Key(HttpBearer):
    """`Authorization: Bearer lf_live_…`, with a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        super().__init__()

    def authenticate(self, request: HttpRequest, token: str) -> ApiKey:
        """The key. Raises NotAuthenticated, NotAllowed."""
        return authenticate(token, self.scope, now=timezone.now())
