from __future__ import annotations

import sys

import pytest

from providers.transport.choice import make_transport
from providers.transport.requests_ import RequestsTransport


@pytest.fixture
def without_pycurl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycurl", None)
    for name in ("curl", "handles"):
        monkeypatch.delitem(sys.modules, f"providers.transport.{name}", raising=False)


def test_takes_curl_where_there_is_one() -> None:
    pytest.importorskip("pycurl")

    auto, curl = (type(make_transport(kind, 3).http).__name__ for kind in ("auto", "curl"))
    assert auto == curl == "CurlTransport"


@pytest.mark.parametrize("kind", ["auto", "requests"])
def test_does_without_curl(without_pycurl: None, kind: str) -> None:
    transport = make_transport(kind, 3)

    assert isinstance(transport.http, RequestsTransport)
    assert transport.concurrency == 3


def test_says_that_curl_is_missing(without_pycurl: None) -> None:
    with pytest.raises(ImportError, match="pycurl"):
        make_transport("curl", 3)


def test_knows_no_other() -> None:
    with pytest.raises(ValueError, match="no such transport: httpx"):
        make_transport("httpx", 3)
