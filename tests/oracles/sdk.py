"""What the comparisons with vendors' SDKs share: calls of ours and theirs in one form, and things to compare."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl, urlencode

import httpx
import requests
from hypothesis import settings
from hypothesis import strategies as st
from requests.adapters import HTTPAdapter

from providers.base import Provider
from providers.errors import InvalidSignature, MalformedWebhook
from providers.messages import Attachment, Channel, HttpRequest, Mail, OutgoingMessage, Push, WebhookRequest

often = settings(max_examples=400, deadline=None, database=None)
seldom = settings(often, max_examples=60)  # where an example takes milliseconds

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)
some_text = texts.filter(str.strip)
names = st.text("abcXYZ019_-.ü", min_size=1, max_size=10)
values = texts | st.sampled_from(["", " ", "a b", "+", "&", "=", "%", "ü", "🎉", "+14155550100"])
short = values.map(lambda text: text[:60]) | st.sampled_from(["é" * 60, "Александра Константиновна Преображенская"])
seconds = st.none() | st.integers(60, 10_000)


@st.composite
def urls(draw: st.DrawFn, values: st.SearchStrategy[str] = values) -> str:
    """Addresses we might be called at: with and without a port, and with any query."""
    scheme, port = draw(
        st.sampled_from([("https", ""), ("https", ":443"), ("https", ":8443"), ("http", ":80"), ("http", "")])
    )
    path = draw(st.sampled_from(["/", "/webhooks/vendor/", "/a%20b/c"]))
    query = urlencode(draw(st.lists(st.tuples(st.text("abcXYZ_-", min_size=1), values), max_size=3)))
    return f"{scheme}://notify.example.com{port}{path}{query and '?' + query}"


@st.composite
def pushes(draw: st.DrawFn, device: str) -> OutgoingMessage:
    """Pushes that nothing is cut from: with and without a title, data for the app, and a receipt."""
    data = draw(st.dictionaries(st.sampled_from(["order", "url", "a b", "ü", "🎉"]), short, max_size=3))
    title, receipt = draw(st.none() | short.filter(bool)), draw(st.sampled_from(["", "cmVjZWlwdA"]))
    push = Push(title, data, receipt, is_urgent=draw(st.booleans()))
    return OutgoingMessage(Channel.PUSH, device, draw(short), useful_seconds=draw(seconds), push=push)


file_names = st.sampled_from(["bill.pdf", "Rechnung – März.pdf", "a (1), b.txt", "🎉"])
contents = st.binary(max_size=200)
files = st.builds(
    Attachment, file_names, st.sampled_from(["application/pdf", "text/plain", "text/calendar"]), contents
) | st.builds(Attachment, file_names, st.just("image/png"), contents, st.just("logo@notify.example.com"))


@st.composite
def mails(draw: st.DrawFn) -> OutgoingMessage:
    """Mails with all that they can have, or without."""
    extra = Mail(
        draw(st.none() | short),
        draw(st.none() | st.just("help@example.com")),
        tuple(draw(st.lists(files, max_size=2))),
        draw(st.none() | st.just("https://notify.example.com/u/abc?x=1&y=2")),
    )
    html = draw(st.none() | some_text)
    return OutgoingMessage(Channel.EMAIL, "ana.pereira@example.net", draw(some_text), draw(texts), html, mail=extra)


@dataclass(frozen=True)
class Call:
    """A request as two of them compare: its fields whatever they were written as, and those headers that carry meaning."""

    method: str
    url: str
    headers: dict[str, str]
    fields: dict[str, Any]


def call(request: HttpRequest | requests.PreparedRequest | httpx.Request, *headers: str) -> Call:
    """Read a call, and of its headers only these."""
    own = {name.lower(): value if isinstance(value, str) else value.decode() for name, value in request.headers.items()}
    chosen = {name: own[name.lower()] for name in headers if name.lower() in own}
    body = request.content if isinstance(request, httpx.Request) else request.body
    return Call(request.method or "", str(request.url), chosen, fields(body))


def fields(body: bytes | str | None) -> dict[str, Any]:
    """Read a body: a JSON object, or a form."""
    text = body.decode() if isinstance(body, bytes) else body or ""
    if text.startswith("{"):
        content: dict[str, Any] = json.loads(text)
        return content
    return dict(parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text)))


@contextmanager
def caught(answer: dict[str, Any] | list[Any], status: int = 200) -> Iterator[list[requests.PreparedRequest]]:
    """Keep what an SDK that calls by `requests` would send, and answer it."""
    made: list[requests.PreparedRequest] = []

    def send(_adapter: HTTPAdapter, request: requests.PreparedRequest, **_: Any) -> requests.Response:
        made.append(request)
        response = requests.Response()
        response.status_code, response.request, response.url = status, request, request.url or ""
        response.headers["Content-Type"] = "application/json"
        response._content = json.dumps(answer).encode()
        return response

    with patch.object(HTTPAdapter, "send", send):
        yield made


def believes(provider: Provider, request: WebhookRequest) -> bool:
    """Say whether an adapter takes a call for genuine, whatever it makes of it."""
    try:
        with suppress(MalformedWebhook):
            provider.parse_webhook(request)
    except InvalidSignature:
        return False
    return True


@st.composite
def changed(draw: st.DrawFn, text: str) -> str:
    """A text with one place changed, added or left out, or quite another one."""
    at = draw(st.integers(0, max(len(text) - 1, 0)))
    letter = draw(st.sampled_from("aA0/=+&"))
    return draw(
        st.sampled_from(
            [text[:at] + letter + text[at + 1 :], text[:at] + letter + text[at:], text[:at] + text[at + 1 :], ""]
        )
    )
