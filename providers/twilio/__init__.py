"""Twilio, SMS: sending, look-up and webhooks."""

from providers.twilio.adapter import Twilio

__all__ = ["Twilio"]
