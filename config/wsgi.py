"""The web process: gunicorn calls `application`."""

import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
import_module("notifications.checks").say_at_start()  # it needs models, which are there by now
