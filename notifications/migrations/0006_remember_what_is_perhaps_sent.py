from django.db import migrations, models

FILL = """
UPDATE message SET perhaps_sent = true FROM outbox
WHERE outbox.message_id = message.id AND (message.state = 'uncertain' OR message.reason = 'send_again');
UPDATE message SET perhaps_sent = true FROM dead_letter, attempt
WHERE dead_letter.message_id = message.id AND dead_letter.resolved_at IS NULL AND message.state = 'dead_lettered'
    AND attempt.message_id = message.id AND attempt.number = message.attempt_count
    AND attempt.outcome = 'unclear' AND attempt.looked_up IS NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("notifications", "0005_index_references_and_operator_permissions")]

    operations = [
        migrations.AddField("attempt", "useful_seconds", models.IntegerField(null=True)),
        migrations.AddField("outboxentry", "useful_seconds", models.IntegerField(null=True)),
        migrations.AddField("message", "perhaps_sent", models.BooleanField(db_default=False)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
