"""MessageBird's REST API, SMS: the older of the vendor's two products, with keys of its own (the newer is Bird).

Fields and signatures as in the official Python SDK 2.2 (https://github.com/messagebird/python-rest-api), read 2026-11;
https://support.messagebird.com/hc/en-us/articles/360001869258 on reports;
https://docs.bird.com/api/channels-api/message-status-and-interactions/message-failure-sources/sms-platform-extended-error-codes
on codes; https://github.com/nyaruka/courier (handlers/messagebird) on what comes in.
There is no idempotency key: posting twice sends twice. Messages carry our attempt id as their reference.
"""

from providers.messagebird.adapter import MessageBird

__all__ = ["MessageBird"]
