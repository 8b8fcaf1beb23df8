"""How Plivo signs its webhooks, as in the Python SDK 4.63: HMAC with SHA-256 by the auth token, in two versions.

V3 is over the URL, all parameters and a nonce. V2 is over the URL without its query and a nonce: it says nothing of what
is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from providers.callback_urls import query_of
from providers.messages import Headers, WebhookRequest
from providers.signatures import Pairs, form_pairs, form_text, is_hmac, url_forms

V3, V3_NONCE = "X-Plivo-Signature-V3", "X-Plivo-Signature-V3-Nonce"
V2, V2_NONCE = "X-Plivo-Signature-V2", "X-Plivo-Signature-V2-Nonce"
GIVEN_AT_ONCE = 8  # more signatures in one header are not looked at


def is_genuine(request: WebhookRequest, auth_token: str, *, v3_only: bool) -> bool:
    """Check V3, or V2 where a call has no V3 and it is not asked for."""
    headers = Headers(request.headers)
    if headers.get(V3) or v3_only:
        return _is_signed(headers, V3, V3_NONCE, auth_token, (text + b"." for text in _v3_texts(request)))
    return _is_signed(headers, V2, V2_NONCE, auth_token, map(_base, url_forms(request.url)))


def pairs_of(request: WebhookRequest) -> Pairs:
    """The parameters of a call: its form, or its query where it is a GET."""
    return _query_pairs(request.url) if _is_get(request) else form_pairs(request.body)


def as_letters(pairs: Pairs) -> Pairs:
    return [(form_text(name).encode(), form_text(value).encode()) for name, value in pairs]


def _is_signed(headers: Mapping[str, str], name: str, nonce_name: str, key: str, texts: Iterable[bytes]) -> bool:
    """Check each signature of a header, which holds several while a token is being replaced."""
    nonce = headers.get(nonce_name, "").encode(errors="replace")
    signed = [text + nonce for text in texts]
    given = headers.get(name, "").split(",")[:GIVEN_AT_ONCE]
    return bool(nonce) and any(is_hmac(signature.strip(), signed, key, "sha256") for signature in given)


def _v3_texts(request: WebhookRequest) -> set[bytes]:
    """What V3 may be over, but for the nonce.

    Whether they sign a text that is not UTF-8 as the bytes it is or as the letters it shows is not documented. The SDK for
    Python takes the bytes of UTF-8 for letters and encodes them once more; whether their server does is not either.
    """
    pairs = pairs_of(request)
    texts = {_v3_text(request, url, read) for url in url_forms(request.url) for read in (pairs, as_letters(pairs))}
    return texts | {text.decode("latin-1").encode() for text in texts}


def _v3_text(request: WebhookRequest, url: str, pairs: Pairs) -> bytes:
    if _is_get(request):
        query, form = _query(pairs), b""
    else:
        query, form = _query(_query_pairs(url)), b"".join(name + value for name, value in sorted(pairs))
    marked = b"?" if query or form else b""
    return _base(url) + marked + query + (b"." if query and form else b"") + form


def _query(pairs: Pairs) -> bytes:
    return b"&".join(name + b"=" + value for name, value in sorted(pairs))


def _query_pairs(url: str) -> Pairs:
    return form_pairs(query_of(url).encode(errors="replace"))


def _base(url: str) -> bytes:
    return url.partition("#")[0].partition("?")[0].encode(errors="replace")


def _is_get(request: WebhookRequest) -> bool:
    return request.method.upper() == "GET"
