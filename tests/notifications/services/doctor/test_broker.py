"""A broker that is away, or drops what it was given, is found: on a real one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from config.launcher import Valkey
from config.processes import free_port
from notifications.services.doctor.broker import findings
from tests.notifications.finding import codes, said


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


@pytest.fixture
def broker(valkey: Valkey, settings: Any) -> Iterator[redis.Redis]:
    """A client of the broker that the settings name, one that is configured as it should be."""
    settings.CELERY_BROKER_URL = valkey.url
    with redis.Redis.from_url(valkey.url) as client:
        client.config_set("maxmemory", "64mb")
        client.config_set("maxmemory-policy", "noeviction")
        yield client


class TestAnswering:
    def test_one_that_keeps_everything_is_well(self, broker, valkey):
        (found,) = findings()

        assert str(found) == f"ok       The broker answers at 127.0.0.1:{valkey.port}."

    @pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
    def test_one_that_evicts_is_an_error(self, broker, policy):
        broker.config_set("maxmemory-policy", policy)

        assert policy in said(findings(), "E041")

    def test_one_without_a_limit_is_noted(self, broker):
        broker.config_set("maxmemory", 0)

        assert codes(findings()) == ["N042"]

    def test_one_that_keeps_its_settings_to_itself_is_noted(self, broker, valkey, settings):
        broker.acl_setuser("worker", enabled=True, passwords=["+k7Qz41mX"], keys=["*"], commands=["+@all", "-info"])
        settings.CELERY_BROKER_URL = f"redis://worker:k7Qz41mX@127.0.0.1:{valkey.port}/0"

        assert codes(findings()) == ["N043"]

    def test_one_that_is_no_redis_is_noted(self, settings):
        settings.CELERY_BROKER_URL = "memory://"

        assert codes(findings()) == ["N043"]


class TestAway:
    @pytest.mark.parametrize("scheme", ["redis", "amqp"])
    def test_is_an_error_that_names_host_and_port_and_no_password(self, settings, scheme):
        port = free_port()
        settings.CELERY_BROKER_URL = f"{scheme}://worker:k7Qz41mX@127.0.0.1:{port}/0"

        sentence = said(findings(), "E040")

        assert f"does not answer at 127.0.0.1:{port}" in sentence
        assert "k7Qz41mX" not in sentence

    def test_is_one_that_does_not_take_our_password(self, valkey, settings):
        settings.CELERY_BROKER_URL = f"redis://:k7Qz41mX@127.0.0.1:{valkey.port}/0"

        sentence = said(findings(), "E040")

        assert "password" in sentence
        assert "k7Qz41mX" not in sentence

    @pytest.mark.parametrize("url", ["redis://:k7Qz/41mX@127.0.0.1:6379/0", "pigeon://:k7Qz/41mX@loft/0"])
    def test_is_an_address_that_nobody_can_read(self, settings, url):
        settings.CELERY_BROKER_URL = url

        sentence = said(findings(), "E040")

        assert sentence.startswith("CELERY_BROKER_URL is no broker's address.")
        assert "k7Qz" not in sentence
