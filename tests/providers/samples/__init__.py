"""What the contract test needs to know about each provider. A new provider brings its sample."""

from __future__ import annotations

from tests.providers.samples import (
    anymail,
    apns,
    aws_sms,
    bird,
    courier,
    fcm,
    infrai,
    infrai_email,
    messagebird,
    mysmsgate,
    plivo,
    postmark,
    resend,
    sendgrid,
    ses,
    sinch,
    smtp,
    telnyx,
    twilio,
    vonage,
    vonage_sms,
    webhook,
    webpush,
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
        sendgrid,
        ses,
        courier,
        infrai_email,
        anymail,
        smtp,
        webhook,
        fcm,
        apns,
        webpush,
    )
}
MORE_SAMPLES = (anymail.BREVO, anymail.MAILJET)  # other vendors behind one adapter
