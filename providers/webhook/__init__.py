"""Events posted to an endpoint, as Standard Webhooks has them."""

from providers.webhook.adapter import Webhook

__all__ = ["Webhook"]
