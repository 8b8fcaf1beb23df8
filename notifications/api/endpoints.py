"""Where a client hears of its notifications: made, changed, tried out, ended."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Path, Router, Status

from notifications.api.auth import Key
from notifications.api.documents import body_of, problems
from notifications.api.reading import read_object
from notifications.api.schemas import EndpointOut, MadeEndpointOut, SecretOut
from notifications.api.shapes import endpoint as shown
from notifications.models import ApiKey, WebhookEndpoint
from notifications.numbers import numbers
from notifications.services import endpoints
from notifications.services.endpoint_fields import EndpointChanges, NewEndpoint
from notifications.services.keys import Scope

Name = Annotated[str, Path(pattern="^[a-z0-9][a-z0-9-]{0,49}$")]

router = Router()
KEY = Key(Scope.ENDPOINTS)
OF_ONE = problems(401, 403, 404, 422, 503)


@router.get("", auth=KEY, response={200: list[EndpointOut], **problems(401, 403, 503)}, summary="List endpoints")
def find_all(request: HttpRequest) -> list[dict[str, Any]]:
    """Your endpoints, by name."""
    return [shown(endpoint) for endpoint in endpoints.of_client(_client_id(request))]


@router.post(
    "",
    auth=KEY,
    response={201: MadeEndpointOut, **problems(400, 401, 403, 413, 422, 503)},
    openapi_extra=body_of(NewEndpoint),
    summary="Make an endpoint",
)
def make(request: HttpRequest, response: HttpResponse) -> Status[Any]:
    """From now on it hears of how your notifications end. Its secret is in this answer and in no other."""
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    endpoint, secret = endpoints.create(key.client, read_object(request.body, "The body"))
    response["Location"] = f"{request.path}/{endpoint.account.slug}"
    return Status(201, {**shown(endpoint), "secret": secret})


@router.get("/{name}", auth=KEY, response={200: EndpointOut, **OF_ONE}, summary="One endpoint")
def get(request: HttpRequest, name: Name) -> dict[str, Any]:
    """How it is set up, and how it does."""
    return shown(_find(request, name))


@router.patch(
    "/{name}",
    auth=KEY,
    response={200: EndpointOut, **problems(400, 401, 403, 404, 413, 422, 503)},
    openapi_extra=body_of(EndpointChanges),
    summary="Change an endpoint",
)
def change(request: HttpRequest, name: Name) -> dict[str, Any]:
    """What the body does not name stays. Switched on again, it gets what was kept for it."""
    return shown(endpoints.change(_find(request, name), read_object(request.body, "The body")))


@router.delete("/{name}", auth=KEY, response={204: None, **OF_ONE}, summary="End an endpoint")
def end(request: HttpRequest, name: Name) -> Status[Any]:
    """Nothing more goes there, for good; its name is not given out again."""
    endpoints.delete(_find(request, name))
    return Status(204, None)


@router.post("/{name}/rotate-secret", auth=KEY, response={200: SecretOut, **OF_ONE}, summary="Give it a new secret")
def rotate(request: HttpRequest, name: Name) -> dict[str, Any]:
    """Every call is signed by both secrets for a while, so that no event is lost while you change over."""
    now = timezone.now()
    secret = endpoints.rotate_secret(_find(request, name), now=now)
    return {"secret": secret, "previous_until": _overlap_ends(now)}


@router.post("/{name}/test", auth=KEY, response={202: None, **OF_ONE}, summary="Try it out")
def test(request: HttpRequest, name: Name) -> Status[Any]:
    """Send it an event of the type `endpoint.test`."""
    endpoints.send_test(_find(request, name), now=timezone.now())
    return Status(202, None)


def _client_id(request: HttpRequest) -> int:
    key: ApiKey = request.auth  # type: ignore[attr-defined]
    return key.client_id


def _find(request: HttpRequest, name: str) -> WebhookEndpoint:
    return endpoints.find(name, client_id=_client_id(request))


def _overlap_ends(now: datetime) -> datetime:
    return now + timedelta(seconds=numbers().endpoint_secret_overlap_seconds)
