"""Endpoints that fail for long are looked after every five minutes; adjustable in the admin, so an existing schedule is left alone."""

from typing import Any

from django.db import migrations

SECONDS = {"watch_endpoints": 300}


def seed(apps: Any, schema_editor: Any) -> None:
    interval = apps.get_model("django_celery_beat", "IntervalSchedule")
    task = apps.get_model("django_celery_beat", "PeriodicTask")
    for name, seconds in SECONDS.items():
        every, _ = interval.objects.get_or_create(every=seconds, period="seconds")
        task.objects.get_or_create(
            name=name,
            defaults={
                "task": f"notifications.{name}",
                "interval": every,
                "queue": "upkeep",
                "expire_seconds": seconds,
            },
        )


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0019_seed_push_and_webhook_routes"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(seed, migrations.RunPython.noop)]
