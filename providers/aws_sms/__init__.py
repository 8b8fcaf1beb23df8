"""AWS End User Messaging, SMS (API PinpointSMSVoiceV2).

User guides, read 2026-11: https://docs.aws.amazon.com/sms-voice/latest/userguide/configuration-sets-event-types.html,
https://docs.aws.amazon.com/sms-voice/latest/userguide/configuration-sets-event-format.html,
https://docs.aws.amazon.com/sns/latest/dg/SendMessageToHttp.prepare.html; calls from the service model in botocore 1.44.8.
There is no idempotency key, and no message can be asked about or searched for: what became of one is told by events only,
which carry our attempt id. Events come through an SNS topic, to which an operator subscribes our webhook address.
"""

from providers.aws_sms.adapter import AwsSms

__all__ = ["AwsSms"]
