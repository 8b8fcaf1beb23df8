"""Courier, e-mail by whichever vendor stands behind it.

API reference, read 2026-11: https://www.courier.com/docs/api-reference/send/send-a-message,
https://www.courier.com/docs/reference/idempotent-requests, https://www.courier.com/docs/platform/sending/failover,
https://www.courier.com/docs/platform/channels/email, https://www.courier.com/docs/platform/workspaces/outbound-webhooks;
fields as in github.com/trycourier/courier-python (August 2026).
A key answers every call as it answered the first, with a 5xx too: after one of those only a search can tell whether there
is a message. Our ids are its tags; reports do not carry them, so those are matched by Courier's own id.
"""

from providers.courier.adapter import Courier

__all__ = ["Courier"]
