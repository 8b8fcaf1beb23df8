from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0012_inbound_messages")]

    operations = [
        migrations.AddField(
            model_name="provideraccount",
            name="denied_countries",
            field=ArrayField(
                base_field=models.CharField(max_length=2),
                blank=True,
                db_default=[],
                default=list,
                help_text="Never these countries.",
                size=None,
            ),
        ),
    ]
