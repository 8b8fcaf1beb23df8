"""Unsubscribing: a page with one button, and the button that mail programs have (RFC 8058)."""

from __future__ import annotations

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.template.loader import render_to_string
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from notifications.services import unsubscribe as service
from notifications.sql.rows import DATABASE_AWAY

TOKEN_CHARACTERS = 200
BODY_BYTES = 4096  # many times what a mail program sends
UNREADABLE = (BadRequest, SuspiciousOperation, MultiPartParserError, UnreadablePostError)
PAGE = "notifications/unsubscribe.html"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@csrf_exempt
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page; unsubscribe where its button was pressed, or a mail program's own. Nobody has to log in for that.

    Whatever else comes changes nothing: security scanners follow every link in a mail.
    """
    subscription = service.read(token) if len(token) <= TOKEN_CHARACTERS else None
    if subscription is None:
        return _page("unknown", status=404)
    if not _is_one_click(request):
        return _page("asks")
    try:
        service.unsubscribe(subscription)
    except DATABASE_AWAY:
        return _page("away", status=503, **{"Retry-After": "5"})
    return _page("done")


def _is_one_click(request: HttpRequest) -> bool:
    if request.method != "POST" or _length(request) > BODY_BYTES:
        return False
    try:
        return request.POST.get("List-Unsubscribe") == "One-Click"
    except UNREADABLE:
        return False


def _length(request: HttpRequest) -> int:
    """What is announced; of a body without a length nothing is read."""
    text = request.META.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else BODY_BYTES + 1


def _page(says: str, *, status: int = 200, **headers: str) -> HttpResponse:
    return HttpResponse(render_to_string(PAGE, {"says": says}), status=status, headers={**HEADERS, **headers})
