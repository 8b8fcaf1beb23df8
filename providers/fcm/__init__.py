"""Firebase Cloud Messaging: pushes to Android, iOS and browsers, by HTTP v1."""

from providers.fcm.adapter import Fcm

__all__ = ["Fcm"]
