"""What a person needs once everything is up: where it is, how to get in, and something to try."""

from __future__ import annotations

import secrets

from django.contrib.auth import get_user_model
from django.db.models import Q
from django.utils import timezone

from config.run.places import SANDBOX
from config.run.plan import Plan
from notifications.models import Client
from notifications.services.keys import Scope, make_key

ADMIN, EXAMPLE = "admin", "example"
BODY = '{"to": {"sms": "+4915112345601"}, "content": {"sms": {"text": "Your table is ready"}}}'
ONCE = "(shown this once)"


def lines(plan: Plan, *, is_database_kept: bool) -> list[str]:
    """The text. Makes a first superuser and a first key, where there are none."""
    web, key = plan.places["web"].url, _example_key()
    told = {
        "Admin": f"{web}/admin/  {_admin_login()}",
        "API": f"{web}/api/v1/docs",
        "API key": f"{key}  client {EXAMPLE}, all scopes {ONCE}" if key else f"client {EXAMPLE} has one",
        "Database": "yours" if is_database_kept else "gone when this ends; set DATABASE_URL to keep one",
    }
    if "flower" in plan.listening:
        told["Flower"] = f"{plan.places['flower'].url}/  {_flower_login(plan)}"
    if SANDBOX in plan.listening:
        told["Sandbox"] = (
            "plays the providers, since no account uses a real one; docs/sandbox.md: what each number does"
        )
    try_it = "Try it:" if key else f"Try it, after KEY=$(python manage.py api_key {EXAMPLE}):"
    return [*(f"  {name:<10}{text}" for name, text in told.items()), "", try_it, _curl(web, key or "$KEY"), ""]


def _admin_login() -> str:
    """A first superuser, where there is none; else whose login to use."""
    users = get_user_model().objects
    if users.filter(is_superuser=True, is_active=True).exists():
        return "the logins it has"
    if users.filter(username=ADMIN).exists():
        return "no superuser yet: python manage.py createsuperuser"
    password = secrets.token_urlsafe(12)
    users.create_superuser(ADMIN, password=password)
    return f"user {ADMIN}, password {password} {ONCE}"


def _example_key() -> str:
    """A key of the client `example`; nothing if it has one that is valid."""
    client, _ = Client.objects.get_or_create(name=EXAMPLE)
    valid = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    if client.api_keys.filter(valid, revoked_at__isnull=True).exists():
        return ""
    return make_key(client, list(Scope))


def _flower_login(plan: Plan) -> str:
    if not plan.new_flower_login:
        return "the login in FLOWER_BASIC_AUTH"
    user, _, password = plan.new_flower_login.partition(":")
    return f"user {user}, password {password}"


def _curl(web_url: str, key: str) -> str:
    """A command that sends a first SMS; a shell fills in `$KEY`."""
    return (
        f"curl -sS {web_url}/api/v1/notifications -H 'Content-Type: application/json'"
        f" -H \"Authorization: Bearer {key}\" -d '{BODY}'"
    )
