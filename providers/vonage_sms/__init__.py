"""Vonage SMS API, the older of their two."""

from providers.vonage_sms.adapter import VonageSms

__all__ = ["VonageSms"]
