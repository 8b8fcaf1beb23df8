"""Vonage Messages API, SMS."""

from providers.vonage.adapter import Vonage

__all__ = ["Vonage"]
