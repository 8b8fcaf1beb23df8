"""A house of real processes: web, two workers, beat, a broker of its own, and the sandbox; Flower where it is wanted."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import requests
from django.core.management import call_command
from django.db import connection
from kombu import pools

from config.celery import app
from config.launcher import Valkey
from config.processes import OTHER, URGENT, Processes, beat, flower, free_port, web, worker
from notifications import selectors
from notifications.accounts import accounts
from notifications.models import Heartbeat, Message, ProviderAccount
from notifications.states import State
from providers.sandbox import Pace, Sandbox, SandboxAccount
from tests.waiting import wait_until

READY_SECONDS = 60

TIMES = {
    "LEASE_SECONDS": "6",
    "SEND_DEADLINE_SECONDS": "2",
    "CRITICAL_SEND_DEADLINE_SECONDS": "2",
    "MARGIN_SECONDS": "1",
    "CHECK_PACE": "0.1",
    "LOOK_UP_AGAIN_SECONDS": "1",
    "SWEEP_SECONDS": "1",
    "LOG_LEVEL": "WARNING",
}
PACE = Pace(sent_after=0.02, delivered_after=0.05, look_up_lag=0.3, unanswered_after=3.0)


@dataclass
class House:
    """What a test may ask of the house."""

    processes: Processes
    broker: Valkey
    sandbox: Sandbox
    web_url: str
    flower_url: str
    flower_login: tuple[str, str]

    def wait_until_delivered(self, count: int, *, seconds: float) -> None:
        """Wait until so many messages, all there are, are delivered. Says where the others are otherwise."""
        try:
            wait_until(
                lambda: Message.objects.filter(state=State.DELIVERED).count() == count,
                seconds=seconds,
                what=f"{count} delivered",
            )
        except AssertionError as error:
            states = list(Message.objects.values_list("state", "reason").distinct())
            raise AssertionError(f"{error}; states: {states}; died: {self.processes.died()}") from None

    def start_worker(self, name: str) -> None:
        self.processes.start(name, worker(name, URGENT if name == "urgent" else OTHER))


@contextmanager
def open_house(logs: Path, *, with_flower: bool = False, **environment: str) -> Iterator[House]:
    """A house with a database, a broker and a sandbox of its own, ready to work. Logs go to `<name>.log` in a folder."""
    web_port, flower_port = free_port(), free_port()
    login = ("flower", secrets.token_hex(12))
    with _own_database() as database, Valkey() as broker, _hints_go_to(broker.url):
        url = f"http://127.0.0.1:{web_port}"
        sandbox = _sandbox(url)
        completed = {
            **TIMES,
            "DATABASE_URL": database,
            "CELERY_BROKER_URL": broker.url,
            "PUBLIC_URL": url,
            "FLOWER_BASIC_AUTH": ":".join(login),
            **environment,
        }
        with sandbox, Processes(completed, logs) as processes:
            house = House(processes, broker, sandbox, url, f"http://127.0.0.1:{flower_port}", login)
            processes.start("web", web(web_port))
            processes.start("beat", beat())
            for name in ("urgent", "other"):
                house.start_worker(name)
            if with_flower:
                processes.start("flower", flower(flower_port))
            lanes = [*URGENT, *OTHER]
            wait_until(
                lambda: Heartbeat.objects.filter(process__in=lanes).count() == len(lanes) or processes.died(),
                seconds=READY_SECONDS,
                what="all lanes served",
            )
            for address in [f"{url}/healthz", *([f"{house.flower_url}/healthcheck"] if with_flower else [])]:
                wait_until(
                    lambda address=address: _answers(address) or processes.died(), seconds=READY_SECONDS, what=address
                )
            assert not processes.died(), processes.log(processes.died()[0])
            yield house


def _answers(address: str) -> bool:
    try:
        return requests.get(address, timeout=2).status_code < 500
    except requests.RequestException:
        return False


@contextmanager
def _own_database() -> Iterator[str]:
    """A database beside the test database, which other tests empty. This process's default connection goes there too."""
    name, before = f"house_{secrets.token_hex(4)}", connection.settings_dict["NAME"]
    url = os.environ["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        _connect_to(name)
        try:
            call_command("migrate", verbosity=0)
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            _connect_to(before)
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _connect_to(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name
    for kept in (accounts, selectors.routes, selectors.clients, selectors.endpoints):
        kept.forget()


@contextmanager
def _hints_go_to(url: str) -> Iterator[None]:
    """Let this process publish to another broker."""
    before = app.conf.broker_url

    def switch(to: str) -> None:
        pools.reset()
        app._pool = app.amqp._producer_pool = None
        app.conf.broker_url = app.conf.broker_read_url = app.conf.broker_write_url = to

    switch(url)
    try:
        yield
    finally:
        switch(before)


def _sandbox(public_url: str) -> Sandbox:
    """A sandbox, and the accounts that use it."""
    postmark = {"server_token": secrets.token_hex(8), "webhook_user": "u", "webhook_password": secrets.token_hex(8)}
    credentials = {"twilio-main": _twilio(), "twilio-second": _twilio(), "postmark-main": postmark}
    reports = public_url.replace("://", f"://u:{postmark['webhook_password']}@") + "/webhooks/postmark-main/"
    sandbox = Sandbox(
        [
            SandboxAccount(slug, slug.split("-")[0], credentials[slug], reports if "postmark" in slug else None)
            for slug in credentials
        ],
        pace=PACE,
    )
    for priority, slug in enumerate(credentials):
        provider = slug.split("-")[0]
        ProviderAccount.objects.create(
            slug=slug,
            provider=provider,
            channels=["sms" if provider == "twilio" else "email"],
            priority=priority,
            credentials=credentials[slug],
            settings={
                "from": "+15005550006" if provider == "twilio" else "no-reply@example.org",
                "look_up_delay_seconds": 0.5,
            },
            base_url=sandbox.base_url(slug),
        )
    return sandbox


def _twilio() -> dict[str, str]:
    return {"account_sid": f"AC{secrets.token_hex(16)}", "auth_token": secrets.token_hex(16)}
