"""Where the ends of deleted notifications are counted, and when one lost its texts and addresses."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0007_hold_letters_and_mark_restored"),
    ]

    operations = [
        migrations.AddField(
            model_name="notification",
            name="redacted_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name="Tally",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                (
                    "end",
                    models.CharField(
                        choices=[
                            ("delivered", "Delivered"),
                            ("unconfirmed", "Unconfirmed"),
                            ("failed", "Failed"),
                            ("expired", "Expired"),
                            ("suppressed", "Suppressed"),
                            ("cancelled", "Cancelled"),
                            ("dead_lettered", "Dead Lettered"),
                        ],
                        max_length=15,
                    ),
                ),
                ("count", models.PositiveBigIntegerField()),
            ],
            options={
                "verbose_name_plural": "tallies",
                "db_table": "tally",
                "constraints": [
                    models.UniqueConstraint(fields=("day", "end"), name="tally_one_per_day_and_end"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "end__in",
                                [
                                    "delivered",
                                    "unconfirmed",
                                    "failed",
                                    "expired",
                                    "suppressed",
                                    "cancelled",
                                    "dead_lettered",
                                ],
                            )
                        ),
                        name="tally_end_known",
                    ),
                ],
            },
        ),
    ]
