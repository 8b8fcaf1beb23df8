"""Telnyx, SMS (API v2).

Read 2026-11: https://developers.telnyx.com/docs/messaging/messages/error-codes,
https://developers.telnyx.com/development/api-fundamentals/api-errors,
https://developers.telnyx.com/docs/development/api-fundamentals/idempotency; fields and signatures as in the official Python
SDK 4.189.0.
Messages cannot be searched. An unclear send is settled by its idempotency key: the same bytes again return the first id.
A report that is not answered within 2 seconds is sent again.
"""

from providers.telnyx.adapter import Telnyx

__all__ = ["Telnyx"]
