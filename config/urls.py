"""The addresses of the web process."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("webhooks/", include("notifications.webhooks.urls")),
]
