"""Resend, e-mail: sending, look-up and webhooks."""

from providers.resend.adapter import Resend

__all__ = ["Resend"]
