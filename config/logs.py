"""Logs are events with fields: one line each, for people or as JSON. Whoever logs, nothing private gets through."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Any

import structlog

from notifications.redaction import redactor

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
_OURS = frozenset({"timestamp", "level", "logger"})  # made here, and a time may look like a number
_CHATTY = ("celery", "kombu", "amqp", "flower", "tornado")  # a line for each hint, and hints come by the second


class Console(logging.StreamHandler[Any]):
    """Writes lines to stderr. One that cannot be made is named, where Python would show what it was to be made from."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  Python's own name
        with suppress(OSError, ValueError):
            sys.stderr.write(f"a line of {record.name} could not be written ({record.pathname}:{record.lineno})\n")


def redact(_logger: Any, _method: str, event: Any) -> Any:
    """The last step before a line is written, for our events and everybody else's."""
    return redactor.value(event, but=_OURS)


def logging_settings(level: str, *, as_json: bool) -> dict[str, Any]:
    """Django's LOGGING: our events and everybody else's lines in one format."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"event": _formatter(as_json=as_json)},
        "handlers": {"console": {"()": Console, "formatter": "event"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": _loggers(level),
    }


def _formatter(*, as_json: bool) -> dict[str, Any]:
    plain = structlog.dev.ConsoleRenderer(
        colors=False, pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
    )
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": _SHARED,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,  # a traceback that shows values would show addresses
            redact,
            structlog.processors.JSONRenderer() if as_json else plain,
        ],
    }


def _loggers(level: str) -> dict[str, Any]:
    """Those with handlers of their own go through ours; those that quote values or talk too much are held back."""
    through_root: dict[str, Any] = {"handlers": [], "propagate": True}
    return {
        "django": {**through_root, "level": level},
        "django.server": through_root,
        "gunicorn.error": through_root,
        "gunicorn.access": through_root,
        "django.db.backends": {"level": "INFO"},  # its DEBUG lines are statements with their values
        "django.template": {"level": "INFO"},  # and these quote what a page is rendered from
        "celery.utils.functional": {"level": "INFO"},  # and these are source code
        **{name: {"level": level if level == "DEBUG" else "WARNING"} for name in _CHATTY},
    }
