import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0015_sms_terms_of_clients"),
    ]

    operations = [
        migrations.CreateModel(
            name="Arrival",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("country", models.CharField(blank=True, max_length=2)),
                ("minute", models.DateTimeField()),
                ("taken_count", models.IntegerField()),
                ("delivered_count", models.IntegerField()),
            ],
            options={
                "db_table": "arrival",
            },
        ),
        migrations.CreateModel(
            name="Pace",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("of", models.CharField(blank=True, max_length=60)),
                ("next_at", models.DateTimeField()),
            ],
            options={
                "db_table": "pace",
            },
        ),
        migrations.CreateModel(
            name="SmsCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("country", models.CharField(blank=True, max_length=2)),
                ("hour", models.DateTimeField()),
                ("count", models.IntegerField()),
            ],
            options={
                "db_table": "sms_count",
            },
        ),
        migrations.AddField(
            model_name="breaker",
            name="cause",
            field=models.CharField(
                choices=[("calls", "Calls"), ("registration", "Registration"), ("receipts", "Receipts")],
                db_default="calls",
                max_length=15,
            ),
        ),
        migrations.AddField(
            model_name="breaker",
            name="detail",
            field=models.CharField(blank=True, db_default="", max_length=300),
        ),
        migrations.AddField(
            model_name="client",
            name="sms_hourly",
            field=models.JSONField(
                blank=True,
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                help_text='How many SMS an hour may go to a country, against toll fraud: {"DE": 5000, "*": 100}; * is each other one.',
            ),
        ),
        migrations.AddField(
            model_name="client",
            name="sms_kinds",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("mobile", "mobile"),
                        ("fixed_line", "fixed_line"),
                        ("fixed_or_mobile", "fixed_or_mobile"),
                        ("premium", "premium"),
                        ("shared_cost", "shared_cost"),
                        ("toll_free", "toll_free"),
                        ("personal", "personal"),
                        ("voip", "voip"),
                        ("short", "short"),
                        ("unknown", "unknown"),
                    ],
                    max_length=15,
                ),
                blank=True,
                db_default=[],
                default=list,
                help_text="Kinds of numbers that SMS may go to; empty means all but landline, premium, shared-cost, personal and short ones.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="outboxentry",
            name="turn_account",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="outboxentry",
            name="turn_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="provideraccount",
            name="prices",
            field=models.JSONField(
                blank=True,
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                help_text='What a message costs, or each SMS of one, by country: {"DE": "0.075", "*": "0.05"}.',
            ),
        ),
        migrations.AddField(
            model_name="provideraccount",
            name="rate",
            field=models.FloatField(
                blank=True,
                help_text="How many it may send in a second; empty means as many as it takes.",
                null=True,
                validators=[django.core.validators.MinValueValidator(0.001)],
            ),
        ),
        migrations.AddField(
            model_name="provideraccount",
            name="rate_burst",
            field=models.PositiveIntegerField(
                db_default=1,
                default=1,
                help_text="How many may go at once after a pause, before the rates hold.",
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
        migrations.AddField(
            model_name="provideraccount",
            name="rate_counts",
            field=models.CharField(
                choices=[("messages", "Messages"), ("segments", "Segments")],
                db_default="messages",
                default="messages",
                help_text="What its rates count: messages, or the SMS that each of them makes.",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="provideraccount",
            name="sender_rate",
            field=models.FloatField(
                blank=True,
                help_text="How many each of its senders may send in a second; empty means no limit of their own.",
                null=True,
                validators=[django.core.validators.MinValueValidator(0.001)],
            ),
        ),
        migrations.AddConstraint(
            model_name="breaker",
            constraint=models.CheckConstraint(
                condition=models.Q(("cause__in", ["calls", "registration", "receipts"])), name="breaker_cause_known"
            ),
        ),
        migrations.AddField(
            model_name="arrival",
            name="account",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="arrivals", to="notifications.provideraccount"
            ),
        ),
        migrations.AddField(
            model_name="pace",
            name="account",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="paces", to="notifications.provideraccount"
            ),
        ),
        migrations.AddField(
            model_name="smscount",
            name="client",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="sms_counts", to="notifications.client"
            ),
        ),
        migrations.AddConstraint(
            model_name="arrival",
            constraint=models.UniqueConstraint(fields=("account", "country", "minute"), name="arrival_unique_minute"),
        ),
        migrations.AddConstraint(
            model_name="pace",
            constraint=models.UniqueConstraint(fields=("account", "of"), name="pace_unique_of_account"),
        ),
        migrations.AddConstraint(
            model_name="smscount",
            constraint=models.UniqueConstraint(fields=("client", "country", "hour"), name="sms_count_unique_hour"),
        ),
    ]
