"""What beat runs, and how often; adjustable in the admin, so an existing schedule is left alone."""

from typing import Any

from django.db import migrations

SECONDS = {"sweep": 1, "poll_statuses": 10, "heartbeat": 10, "reconcile": 30}
LANES = {"sweep": "control", "poll_statuses": "control", "heartbeat": "control", "reconcile": "upkeep"}


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
                "queue": LANES[name],
                "expire_seconds": max(10, seconds),
            },
        )


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0003_seed_routes_and_internal_client"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(seed, migrations.RunPython.noop)]
