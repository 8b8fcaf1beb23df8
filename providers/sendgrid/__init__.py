"""SendGrid, e-mail."""

from providers.sendgrid.adapter import SendGrid

__all__ = ["SendGrid"]
