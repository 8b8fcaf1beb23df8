from django.urls import path

from notifications.webhooks.views import receive

urlpatterns = [
    path("<slug:slug>/", receive, name="webhook"),
    path("<slug:slug>/<str:secret>/", receive, name="unsigned-webhook"),
]
