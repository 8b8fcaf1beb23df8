"""What is judged by its receipts: how it rests, and who looks; adjustable in the admin, so an existing schedule is left alone."""

from typing import Any

from django.db import migrations, models

SECONDS = {"judge_arrivals": 30}
CAUSES = ["calls", "registration", "receipts", "operator"]


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
        ("notifications", "0016_rates_arrivals_and_limits"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [
        migrations.AddField("breaker", "is_last_resort", models.BooleanField(db_default=False)),
        migrations.AddField("breaker", "calls_fail", models.BooleanField(db_default=False)),
        migrations.AlterField(
            "breaker",
            "cause",
            models.CharField(
                choices=[(cause, cause.capitalize()) for cause in CAUSES], db_default="calls", max_length=15
            ),
        ),
        migrations.RemoveConstraint("breaker", "breaker_cause_known"),
        migrations.AddConstraint(
            "breaker",
            models.CheckConstraint(condition=models.Q(("cause__in", CAUSES)), name="breaker_cause_known"),
        ),
        migrations.RunPython(seed, migrations.RunPython.noop),
    ]
