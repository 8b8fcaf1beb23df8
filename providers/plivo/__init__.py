"""Plivo, SMS: sending, look-up and webhooks."""

from providers.plivo.adapter import Plivo

__all__ = ["Plivo"]
