"""Endpoints: where clients hear of their notifications. Switched off, one has its events kept; on again, it gets them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import IntegrityError, transaction

import notifications.sql.endpoints as sql
from notifications import selectors
from notifications.accounts import ConnectedAccount, accounts
from notifications.addresses import address_hash
from notifications.ids import new_id
from notifications.models import Client, ProviderAccount, WebhookEndpoint
from notifications.models.client import EVENTS
from notifications.numbers import numbers
from notifications.services import events, owners
from notifications.services.endpoint_fields import LookUp, read_changes, read_new
from notifications.services.request import FieldError, Refused
from providers.messages import Channel
from providers.registry import PROVIDERS
from providers.transport.connections import look_up as ask_dns

log = structlog.get_logger(__name__)

RELEASED_AT_ONCE = 1000  # events that waited, in one statement
BY_HAND = "switched off by hand"

_provider = next(provider for provider in PROVIDERS.values() if Channel.WEBHOOK in provider.channels)


class UnknownEndpoint(LookupError):
    """There is no such endpoint, or it is another client's."""


def create(client: Client, fields: Mapping[str, Any], *, look_up: LookUp = ask_dns) -> tuple[WebhookEndpoint, str]:
    """Make an endpoint of a client. Returns it with its secret, which is not shown again. Raises Refused."""
    new = read_new(fields, look_up)
    secret = _provider.new_secret()
    with transaction.atomic():
        Client.objects.select_for_update().get(id=client.id)  # two at once must not both be the last
        _require_room(client)
        account = ProviderAccount(
            slug=new.name,
            provider=_provider.name,
            channels=[Channel.WEBHOOK.value],
            credentials={"url": new.url, "secret": secret},
            settings={"headers": new.headers} if new.headers else {},
        )
        _insert(account)
        endpoint = WebhookEndpoint.objects.create(
            client=client, account=account, event_types=new.event_types, owner_email=new.owner_email
        )
    _forget()
    return endpoint, secret


def change(endpoint: WebhookEndpoint, fields: Mapping[str, Any], *, look_up: LookUp = ask_dns) -> WebhookEndpoint:
    """Change what is named in `fields`, and return it as it is now. Raises Refused."""
    wanted = read_changes(fields, look_up)
    with transaction.atomic():
        account = _locked(endpoint)
        if wanted.url is not None:
            account.credentials = {**account.credentials, "url": wanted.url}
        if wanted.headers is not None:
            account.settings = {**account.settings, "headers": wanted.headers}
        account.save(update_fields=["credentials", "settings"])
        told = {name: getattr(wanted, name) for name in ("event_types", "owner_email")}
        for name, value in told.items():
            setattr(endpoint, name, getattr(endpoint, name) if value is None else value)
        endpoint.save(update_fields=[*told])
    _forget()
    if wanted.is_on is not None:
        (switch_on if wanted.is_on else stop)(endpoint)
    return WebhookEndpoint.objects.select_related("account").get(id=endpoint.id)


def rotate_secret(endpoint: WebhookEndpoint, *, now: datetime) -> str:
    """Give an endpoint a new secret, which is not shown again. The one before signs beside it for a while."""
    secret = _provider.new_secret()
    until = now + timedelta(seconds=numbers().endpoint_secret_overlap_seconds)
    with transaction.atomic():
        account = _locked(endpoint)
        account.credentials = {
            **account.credentials, "secret": secret, "previous_secret": account.credentials.get("secret", ""),
        }  # fmt: skip
        account.settings = {**account.settings, "previous_secret_until": until.isoformat()}
        account.save(update_fields=["credentials", "settings"])
    _forget()
    log.info("endpoint has a new secret", endpoint=account.slug)
    return secret


def send_test(endpoint: WebhookEndpoint, *, now: datetime) -> None:
    """Send an endpoint an event that tells of nothing. Raises Refused for one that is switched off."""
    if not endpoint.account.is_on:
        raise Refused([FieldError("endpoint", "is switched off", "one that is on: switch it on first")])
    name = endpoint.account.slug
    event = events.Event(
        client_id=endpoint.client_id,
        type=events.TEST,
        occurred_at=now,
        key=f"test:{new_id()}",
        reference=name,
        data={"endpoint": name},
    )
    events.tell_endpoint(endpoint, event)


def delete(endpoint: WebhookEndpoint) -> None:
    """Switch an endpoint off for good. Its name is not given out again, since calls on file are under it.

    What waits for it expires unsent.
    """
    with transaction.atomic():
        sql.switch_off(endpoint.account_id, BY_HAND)
        endpoint.delete()
    _forget()


def of_client(client_id: int) -> list[WebhookEndpoint]:
    """A client's endpoints, by name."""
    return list(WebhookEndpoint.objects.select_related("account").filter(client_id=client_id).order_by("account__slug"))


def find(name: str, *, client_id: int) -> WebhookEndpoint:
    """One of a client's endpoints. Raises UnknownEndpoint."""
    endpoints = WebhookEndpoint.objects.select_related("account").filter(client_id=client_id, account__slug=name)
    if (endpoint := endpoints.first()) is None:
        raise UnknownEndpoint(name)
    return endpoint


def switch_off(account: ConnectedAccount, reason: str) -> None:
    """Send an endpoint nothing more, and keep its events. Alarms and tells its owner, once."""
    with transaction.atomic():
        if not sql.switch_off(account.id, reason[:200]):
            return
        owners.tell_of_switching_off(
            WebhookEndpoint.objects.select_related("account").get(account_id=account.id), reason
        )
    log.error("endpoint switched off", endpoint=account.slug, reason=reason)
    accounts.forget()


def stop(endpoint: WebhookEndpoint) -> None:
    """Send an endpoint nothing more, because somebody wants that; keep its events."""
    sql.switch_off(endpoint.account_id, BY_HAND)
    _forget()


def switch_on(endpoint: WebhookEndpoint) -> None:
    """Send to an endpoint again, beginning with what waits for it."""
    sql.switch_on(endpoint.account_id)
    _forget()
    hashed = address_hash(Channel.WEBHOOK, endpoint.account.slug)
    wait = 2 * numbers().cache_seconds  # until every process has seen it
    while sql.bring_forward(hashed, wait_seconds=wait, limit=RELEASED_AT_ONCE):
        pass


def require_free(client: Client, name: str) -> None:
    """Whether a client may have an endpoint of this name, as things are now. Raises Refused."""
    _require_room(client)
    if ProviderAccount.objects.filter(slug=name).exists():
        raise _taken()


def _taken() -> Refused:
    return Refused([FieldError("name", "is taken", "a name that no account or endpoint has or had")])


def _require_room(client: Client) -> None:
    if client.name == EVENTS:
        raise Refused([FieldError("client", "is who tells of events", "a client that submits notifications")])
    most = numbers().endpoints_of_a_client
    if WebhookEndpoint.objects.filter(client=client).count() >= most:
        raise Refused([FieldError("name", "would be one endpoint too many", f"at most {most} endpoints of a client")])


def _insert(account: ProviderAccount) -> None:
    try:
        with transaction.atomic():
            account.save(force_insert=True)
    except IntegrityError:
        raise _taken() from None


def _locked(endpoint: WebhookEndpoint) -> ProviderAccount:
    return ProviderAccount.objects.select_for_update().get(id=endpoint.account_id)


def _forget() -> None:
    accounts.forget()
    selectors.endpoints.forget()
