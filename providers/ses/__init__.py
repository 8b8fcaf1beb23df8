"""Amazon SES, e-mail (API version 2).

Developer guide, read 2026-11: https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html,
https://docs.aws.amazon.com/ses/latest/dg/attachments.html; calls from the service model in botocore 1.44.8.
There is no idempotency key and no search: what became of a mail is told by events only, which carry our attempt id. They
come through an SNS topic, to which an operator subscribes our webhook address. One mail can be asked about, but once a
second for a whole account and as an extra that is paid for, so nobody asks.
"""

from providers.ses.adapter import Ses

__all__ = ["Ses"]
