"""What HTTP alone can do: the same posts without a product around them.

`python -m tests.bench.contenders.bare requests|curl URL NAME COUNT`
"""

from __future__ import annotations

import sys

import pycurl
import requests

from tests.bench.contenders.manners import HEADERS, bodies, play

K = 16  # calls at once, as in the product


def post_by_requests(url: str, name: str, count: int) -> None:
    """As everybody writes it."""
    with requests.Session() as session:
        for body in bodies(name, count):
            answer = session.post(url, data=body, headers=HEADERS, timeout=10)
            assert answer.status_code == 201
            assert answer.json()["sid"]


def post_by_curl(url: str, name: str, count: int) -> None:
    """Libcurl's multi interface, and nothing done with the answers."""
    multi, waiting, busy = pycurl.CurlMulti(), bodies(name, count), 0
    idle = [_handle(url) for _ in range(K)]
    while True:
        while idle and (body := next(waiting, None)) is not None:
            curl = idle.pop()
            curl.setopt(pycurl.POSTFIELDS, body)
            multi.add_handle(curl)
            busy += 1
        if not busy:
            return
        multi.perform()
        _, done, failed = multi.info_read()
        assert not failed, failed
        for curl in done:
            multi.remove_handle(curl)
        busy -= len(done)
        idle += done
        if not done:
            multi.select(1.0)


def _handle(url: str) -> pycurl.Curl:
    curl = pycurl.Curl()
    curl.setopt(pycurl.URL, url)
    curl.setopt(pycurl.POST, 1)
    curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in HEADERS.items()])
    curl.setopt(pycurl.WRITEFUNCTION, lambda data: len(data))
    return curl


if __name__ == "__main__":
    kind, url, name, count = sys.argv[1:]
    post = {"requests": post_by_requests, "curl": post_by_curl}[kind]
    post(url, f"{name}w", 20)  # warm: imports, connections
    play(lambda: post(url, name, int(count)) or int(count))
