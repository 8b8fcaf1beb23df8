import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("notifications", "0013_denied_countries")]

    operations = [
        migrations.CreateModel(
            name="Breaker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("country", models.CharField(blank=True, max_length=2)),
                ("opened_at", models.DateTimeField(db_default=Now())),
                ("opened_until", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="breakers",
                        to="notifications.provideraccount",
                    ),
                ),
            ],
            options={
                "db_table": "breaker",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "country"), name="breaker_unique_country_of_account")
                ],
            },
        ),
    ]
