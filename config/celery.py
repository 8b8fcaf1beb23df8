"""The Celery application: which process plays which part."""

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("landfall")
app.config_from_object("config.celery_settings:CELERY")
app.autodiscover_tasks()


@celeryd_init.connect
def wait_longer_for_the_broker(conf: Any, **_: Any) -> None:
    """A worker has time that a caller's request has not: half a second of silence is no reason to reconnect."""
    conf.broker_transport_options = {
        **conf.broker_transport_options,
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
    }


@setup_logging.connect
def leave_logging_alone(**_: Any) -> None:
    """Celery would add handlers of its own, and what goes through those is not redacted."""
