"""Room for updates in place, and an outbox that is vacuumed before its dead entries slow the claim."""

from django.db import migrations


def set_storage(table: str, options: str) -> migrations.RunSQL:
    names = ", ".join(option.split("=")[0].strip() for option in options.split(","))
    return migrations.RunSQL(f"ALTER TABLE {table} SET ({options})", f"ALTER TABLE {table} RESET ({names})")


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_initial")]

    operations = [
        set_storage(
            "outbox",
            "fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,"
            " autovacuum_vacuum_cost_delay = 0",
        ),
        set_storage("message", "fillfactor = 70"),
        set_storage("notification", "fillfactor = 70"),
    ]
