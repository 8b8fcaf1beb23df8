"""Postmark, e-mail: sending, look-up and webhooks."""

from providers.postmark.adapter import Postmark

__all__ = ["Postmark"]
