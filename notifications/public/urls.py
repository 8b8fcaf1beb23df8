from django.urls import path

from notifications.public.views import unsubscribe

# With the slash and without it, which some programs take off: to be sent on from one to the other is forbidden (RFC 8058).
urlpatterns = [
    path("<str:token>/", unsubscribe, name="unsubscribe"),
    path("<str:token>", unsubscribe),
]
