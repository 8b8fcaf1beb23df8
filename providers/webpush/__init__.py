"""Web Push: pushes to browsers, by whatever service a browser has chosen."""

from providers.webpush.adapter import WebPush

__all__ = ["WebPush"]
