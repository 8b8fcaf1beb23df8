"""Both transports, for tests of what they owe alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from providers.transport.base import Transport
from providers.transport.choice import make_transport

OpenTransport = Callable[..., Transport]


@pytest.fixture(params=["requests", "curl"])
def open_transport(request: pytest.FixtureRequest) -> Iterator[OpenTransport]:
    """Opens a transport with the arguments it is given, and closes it after the test."""
    if request.param == "curl":
        pytest.importorskip("pycurl")
    kind: Any = type(make_transport(request.param, 1).http)
    with ExitStack() as stack:

        def open_it(**arguments: Any) -> Transport:
            return stack.enter_context(closing(kind(**arguments)))

        yield open_it


@pytest.fixture
def transport(open_transport: OpenTransport) -> Transport:
    return open_transport(concurrency=16)
