"""The broker: it answers, and throws nothing away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from kombu import Connection
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from notifications.addresses import redact
from notifications.services.doctor.findings import Finding

CONNECT_SECONDS = 2
REDIS = {"redis", "rediss", "sentinel"}
REMEDY = "Start Redis or Valkey there, or correct CELERY_BROKER_URL."


def findings() -> Iterator[Finding]:
    """What is wrong with the broker behind CELERY_BROKER_URL, asked the way the workers ask it."""
    try:
        broker = Connection(
            settings.CELERY_BROKER_URL,
            transport_options=getattr(settings, "CELERY_BROKER_TRANSPORT_OPTIONS", {}),
            connect_timeout=CONNECT_SECONDS,
        )
        with broker:
            broker.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
            yield Finding("", f"The broker answers at {where()}.")
            yield from _settings(broker)
    except (KombuError, OSError) as error:
        yield Finding("E040", f"The broker does not answer at {where()}: {_said(error, broker)}.", REMEDY)
    except (ValueError, LookupError):  # of its address, which may quote a password
        yield Finding("E040", "CELERY_BROKER_URL is no broker's address.", "Set it, e.g. to redis://127.0.0.1:6379/0.")


def where() -> str:
    """Host and port of the broker, never user and password."""
    broker = Connection(settings.CELERY_BROKER_URL)
    return f"{broker.hostname or 'localhost'}:{broker.port or broker.get_transport_cls().default_port}"


def _said(error: Exception, broker: Any) -> str:
    return " ".join(redact(str(error), broker.password or "").split()).rstrip(".")


def _settings(broker: Any) -> Iterator[Finding]:
    if broker.transport_cls not in REDIS:
        yield _not_seen(f"The broker is {broker.transport_cls}: its own settings were not looked at.")
        return
    try:
        memory = broker.default_channel.client.info("memory")
    except RedisError:
        yield _not_seen("The broker does not let us see its settings (INFO).")
    else:
        yield from _eviction(memory)


def _not_seen(fact: str) -> Finding:
    return Finding("N043", fact, "See for yourself that it drops nothing when memory runs short.")


def _eviction(memory: Mapping[str, Any]) -> Iterator[Finding]:
    policy = memory.get("maxmemory_policy")
    if policy != "noeviction":
        yield Finding(
            "E041",
            f"The broker's maxmemory-policy is {policy}: it drops hints in silence when memory runs short.",
            "CONFIG SET maxmemory-policy noeviction, and the same in its configuration file; caches belong elsewhere.",
        )
    if memory.get("maxmemory") == 0:
        yield Finding(
            "N042",
            "The broker has no maxmemory: it may take the machine's last memory.",
            "CONFIG SET maxmemory 256mb; hints are few and small.",
        )
