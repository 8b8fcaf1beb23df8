"""What everyone needs for a first push and a first event."""

from typing import Any

from django.db import migrations

ROUTES = {
    "push": [{"channel": "push"}],
    "webhook": [{"channel": "webhook"}],
    "push-then-sms-then-email": [
        {"channel": "push", "wait_for": "delivered", "window_seconds": 60},
        {"channel": "sms", "wait_for": "delivered", "window_seconds": 90},
        {"channel": "email"},
    ],
}


def seed(apps: Any, schema_editor: Any) -> None:
    route = apps.get_model("notifications", "Route")
    for name, steps in ROUTES.items():
        route.objects.get_or_create(name=name, defaults={"steps": steps})
    apps.get_model("notifications", "Client").objects.get_or_create(name="events")


class Migration(migrations.Migration):
    dependencies = [("notifications", "0018_webhook_endpoints_and_longer_addresses")]

    operations = [migrations.RunPython(seed, migrations.RunPython.noop)]
