"""What Celery is given, and so what Flower and `inspect conf` show."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from config.celery import app
from config.celery_settings import CELERY


def shown() -> dict[str, Any]:
    """What a worker tells whoever asks for its configuration."""
    return dict(app.conf.table())


class TestCelerySettings:
    def test_are_those_of_celery_and_no_others(self) -> None:
        ours = {name for name in dir(settings) if name.startswith("CELERY_")}

        assert len(CELERY) == len(ours)
        assert not {"SECRET_KEY", "DATABASES", "SENTRY_DSN"} & set(shown())

    def test_do_not_show_the_password_of_the_broker(self) -> None:
        assert app.conf.broker_url == settings.CELERY_BROKER_URL
        assert shown()["broker_url"].startswith("redis://:**")

    def test_reach_the_part_of_celery_that_asks_for_a_name_of_its_own(self) -> None:
        assert app.conf.get("CELERY_DB_REUSE_MAX") == settings.CELERY_DB_REUSE_MAX
