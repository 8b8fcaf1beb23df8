"""Which transport to use."""

from __future__ import annotations

from providers.transport.base import Transport

KINDS = ("auto", "curl", "requests")


def make_transport(kind: str, concurrency: int) -> Transport:
    """Make a transport. `auto` means curl where pycurl is installed, else requests.

    Raises ValueError for another kind, ImportError for curl without pycurl.
    """
    if kind not in KINDS:
        raise ValueError(f"no such transport: {kind}")
    if kind != "requests":
        try:
            from providers.transport.curl import CurlTransport  # optional, and 9 MB to load

            return CurlTransport(concurrency)
        except ImportError:
            if kind == "curl":
                raise
    from providers.transport.requests_ import RequestsTransport

    return RequestsTransport(concurrency)
