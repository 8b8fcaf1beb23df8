"""PUBLIC_URL: a form that providers can call, and that we answer to."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from notifications.services.doctor.findings import Finding

EXAMPLE = "Set it to a scheme and a host, like https://notify.example.com."
OWN_NAMES = (".localhost", ".local", ".internal", ".lan", ".test")


def findings() -> Iterator[Finding]:
    """What is wrong with PUBLIC_URL by its form alone."""
    parts = _parts()
    if parts is None:
        yield Finding("E020", "PUBLIC_URL is no address: it needs http:// or https:// and a host.", EXAMPLE)
        return
    yield from _form(parts)
    yield from _allowed(parts)
    if is_loopback(host_of(settings.PUBLIC_URL)):
        return
    if parts.scheme == "http":
        yield Finding(
            "W021",
            f"PUBLIC_URL is plain http on {parts.hostname}: receipts, with phone numbers in them, can be read on the way, and"
            " no marketing e-mail is sent, since nobody could unsubscribe with one click.",
            "Serve https and set PUBLIC_URL to it.",
        )
    if settings.DEBUG:
        yield Finding(
            "E026",
            f"DEBUG is on while PUBLIC_URL names {parts.hostname}: whoever causes an error sees our settings and addresses.",
            "Unset DEBUG.",
        )


def host_of(url: str) -> str:
    """The host in a URL, in lower case; empty where there is none that can be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host is the machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def is_private(host: str) -> bool:
    """Whether a host means something on this machine or in this network only, as far as its name tells."""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(OWN_NAMES)


def is_for_this_machine() -> bool:
    """Whether nobody but this machine is expected to call us."""
    return is_loopback(host_of(settings.PUBLIC_URL))


def _parts() -> SplitResult | None:
    try:
        parts = urlsplit(settings.PUBLIC_URL)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_address else None


def _form(parts: SplitResult) -> Iterator[Finding]:
    if "@" in parts.netloc:
        yield Finding("E022", "PUBLIC_URL holds a user or a password.", "Leave them out: it is shown to everyone.")
    if "_" in (parts.hostname or ""):
        yield Finding(
            "E023",
            f"The host of PUBLIC_URL, {parts.hostname}, has an underscore, which no host name may have: providers and Django refuse it.",
            "Use a name of letters, digits and hyphens.",
        )
    if parts.query or parts.fragment:
        yield Finding(
            "E024", 'PUBLIC_URL has a part after "?" or "#": webhook addresses made from it lead nowhere.', EXAMPLE
        )
    elif parts.path:
        yield Finding(
            "W024",
            f"PUBLIC_URL has a path, {parts.path}: webhooks are served at /webhooks/ of the host.",
            "Leave the path out, or let the proxy strip it.",
        )


def _allowed(parts: SplitResult) -> Iterator[Finding]:
    netloc = parts.netloc.rpartition("@")[2].lower()
    host, _ = split_domain_port(netloc)
    allowed = settings.ALLOWED_HOSTS
    if settings.DEBUG and not allowed:
        allowed = [".localhost", "127.0.0.1", "[::1]"]  # as Django does
    if host and not validate_host(host, allowed):
        yield Finding(
            "E025",
            f"{host} of PUBLIC_URL is not in ALLOWED_HOSTS: every receipt would be answered with 400.",
            f"Add {host} to ALLOWED_HOSTS.",
        )
