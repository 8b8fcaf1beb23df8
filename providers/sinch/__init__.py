"""Sinch, SMS: sending, look-up and webhooks."""

from providers.sinch.adapter import Sinch

__all__ = ["Sinch"]
