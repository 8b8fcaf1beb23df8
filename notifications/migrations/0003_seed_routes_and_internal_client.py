"""What everyone needs for a first notification."""

from typing import Any

from django.db import migrations

ROUTES = {
    "sms": [{"channel": "sms"}],
    "email": [{"channel": "email"}],
    "sms-then-email": [{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}],
}


def seed(apps: Any, schema_editor: Any) -> None:
    route = apps.get_model("notifications", "Route")
    for name, steps in ROUTES.items():
        route.objects.get_or_create(name=name, defaults={"steps": steps})
    apps.get_model("notifications", "Client").objects.get_or_create(name="internal")


class Migration(migrations.Migration):
    dependencies = [("notifications", "0002_storage")]

    operations = [migrations.RunPython(seed, migrations.RunPython.noop)]
