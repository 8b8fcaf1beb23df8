"""SMTP, e-mail: mails handed to any mail server."""

from providers.smtp.adapter import Smtp

__all__ = ["Smtp"]
