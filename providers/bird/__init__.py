"""Bird, SMS: the vendor's new platform (the older product is MessageBird, with keys of its own).

API reference, read 2026-11: https://bird.com/docs/api/errors, https://bird.com/docs/api/idempotency,
https://bird.com/docs/api/reference/create-sms-message; fields as in the models of the official Python SDK 0.106
(https://github.com/messagebird/bird-sdk-python).
An unclear send is settled by its idempotency key: the same call again is answered as the first was.
"""

from providers.bird.adapter import Bird

__all__ = ["Bird"]
