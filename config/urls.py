"""The addresses of the web process."""

from django.contrib import admin
from django.urls import include, path

from notifications import health
from notifications.api.app import api

urlpatterns = [
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("webhooks/", include("notifications.webhooks.urls")),
    path("unsubscribe/", include("notifications.public.urls")),
]
