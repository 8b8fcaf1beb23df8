"""One address per provider account."""

from __future__ import annotations

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from notifications.accounts import ConnectedAccount, accounts
from notifications.services import receive as service
from notifications.sql.rows import DATABASE_AWAY
from providers.errors import InvalidSignature, UnsupportedFeature
from providers.messages import Headers, WebhookRequest

log = structlog.get_logger(__name__)


@csrf_exempt
@transaction.non_atomic_requests
@require_http_methods(["GET", "POST"])
def receive(request: HttpRequest, slug: str, secret: str = "") -> HttpResponse:
    """Take a provider's report. Answers in milliseconds; what it means is worked out later.

    404 for an account that does not exist, the provider's own refusal status for a call that is not genuine or lacks the
    secret of an address where nothing is signed, 413 for a body over the limit, 503 while the database is away, else 200:
    a provider may take any other 2xx for a failure.
    """
    try:
        account = accounts.by_slug(slug)
        if account is None:
            return HttpResponse(status=404)
        if not constant_time_compare(secret, account.webhook_secret):
            log.warning("webhook refused", account=account.slug, error="SecretMissing")
            return HttpResponse(status=account.provider.refused_webhook_status)
        return _take(request, account)
    except RequestDataTooBig:
        return HttpResponse(status=413)
    except DATABASE_AWAY:
        return HttpResponse(status=503, headers={"Retry-After": "5"})


def _take(request: HttpRequest, account: ConnectedAccount) -> HttpResponse:
    try:
        service.receive(account, _as_received(request))
    except (InvalidSignature, UnsupportedFeature) as error:
        log.warning("webhook refused", account=account.slug, error=type(error).__name__)
        return HttpResponse(status=account.provider.refused_webhook_status)
    return HttpResponse()


def _as_received(request: HttpRequest) -> WebhookRequest:
    """The call as the provider made it: with the public address, which a proxy may hide from us."""
    return WebhookRequest(
        method=request.method or "",
        url=settings.PUBLIC_URL + request.get_full_path(),
        headers=Headers(dict(request.headers)),
        body=request.body,
    )
