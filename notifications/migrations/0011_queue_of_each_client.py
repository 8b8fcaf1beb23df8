"""Due entries by client, so that one client's million does not keep another one waiting. Built without locking senders out."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("notifications", "0010_batches")]

    operations = [
        AddIndexConcurrently(
            model_name="outboxentry",
            index=models.Index(fields=["lane", "client", "due_at", "message"], name="outbox_queue"),
        ),
        RemoveIndexConcurrently(model_name="outboxentry", name="outbox_due"),
    ]
