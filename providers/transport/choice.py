"""Which transport to use."""

from __future__ import annotations

from providers.transport.base import Transport
from providers.transport.both import BothTransport
from providers.transport.foreign import ForeignRules

KINDS = ("auto", "curl", "requests")


def make_transport(kind: str, concurrency: int, foreign: ForeignRules = ForeignRules()) -> BothTransport:  # noqa: B008
    """Make a transport. `kind` is who carries what goes over HTTP; `auto` means curl where pycurl is installed, else requests.

    `foreign` says where requests may go whose address somebody else gave.

    Raises ValueError for another kind, ImportError for curl without pycurl.
    """
    http = _make_http(kind, concurrency, foreign)
    return BothTransport(http, lambda: _make_smtp(concurrency), lambda: _make_http2(http, concurrency, foreign))


def _make_http(kind: str, concurrency: int, foreign: ForeignRules) -> Transport:
    if kind not in KINDS:
        raise ValueError(f"no such transport: {kind}")
    if kind != "requests":
        try:
            from providers.transport.curl import CurlTransport  # optional, and 9 MB to load

            return CurlTransport(concurrency, foreign=foreign)
        except ImportError:
            if kind == "curl":
                raise
    from providers.transport.requests_ import RequestsTransport

    return RequestsTransport(concurrency, foreign=foreign)


def _make_http2(http: Transport, concurrency: int, foreign: ForeignRules) -> Transport:
    """The one that is there if it can, else one beside it. Raises ImportError without pycurl."""
    from providers.transport.curl import CurlTransport

    return http if isinstance(http, CurlTransport) else CurlTransport(concurrency, foreign=foreign)


def _make_smtp(concurrency: int) -> Transport:
    from providers.transport.smtp import SmtpTransport  # loaded when there is a mail to send

    return SmtpTransport(concurrency)
