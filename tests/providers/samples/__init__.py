"""What the contract test needs to know about each provider. A new provider brings its sample."""

from __future__ import annotations

from tests.providers.samples import (
    aws_sms,
    bird,
    infrai,
    messagebird,
    mysmsgate,
    plivo,
    postmark,
    resend,
    sinch,
    telnyx,
    twilio,
    vonage,
    vonage_sms,
)

SAMPLES = {
    module.SAMPLE.name: module.SAMPLE
    for module in (
        twilio,
        postmark,
        resend,
        mysmsgate,
        telnyx,
        vonage,
        vonage_sms,
        aws_sms,
        infrai,
        messagebird,
        bird,
        plivo,
        sinch,
    )
}
