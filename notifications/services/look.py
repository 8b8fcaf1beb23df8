"""Look at one notification."""

from __future__ import annotations

from uuid import UUID

from notifications.models import Notification
from notifications.services.cancel import UnknownNotification


def look(notification_id: UUID, *, client_id: int) -> Notification:
    """A client's notification with its messages, attempts and reports loaded. Raises UnknownNotification."""
    found = Notification.objects.filter(client_id=client_id).prefetch_related(
        "messages__attempts__account", "messages__delivery_events__account"
    )
    try:
        return found.get(id=notification_id)
    except Notification.DoesNotExist:
        raise UnknownNotification(str(notification_id)) from None
