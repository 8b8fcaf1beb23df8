"""Apple Push Notification service: pushes to Apple's devices, straight."""

from providers.apns.adapter import Apns

__all__ = ["Apns"]
