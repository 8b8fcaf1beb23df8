import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0017_schedule_judge_arrivals"),
    ]

    operations = [
        migrations.AddField(
            model_name="notification",
            name="end_count",
            field=models.SmallIntegerField(db_default=0),
        ),
        migrations.AlterField(
            model_name="message",
            name="address",
            field=models.TextField(blank=True),
        ),
        migrations.CreateModel(
            name="WebhookEndpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event_types",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100),
                        blank=True,
                        default=list,
                        help_text="What it hears of, e.g. notification.delivered; notification.* is all of a kind, empty is everything.",
                        size=None,
                    ),
                ),
                ("owner_email", models.EmailField(blank=True, help_text="Who is told when it fails.", max_length=254)),
                ("failing_since", models.DateTimeField(editable=False, null=True)),
                ("warned_at", models.DateTimeField(editable=False, null=True)),
                ("off_reason", models.CharField(blank=True, editable=False, max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="endpoint",
                        to="notifications.provideraccount",
                    ),
                ),
                (
                    "client",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="endpoints", to="notifications.client"
                    ),
                ),
            ],
            options={
                "db_table": "webhook_endpoint",
            },
        ),
    ]
