"""What the contract test needs to know about each provider. A new provider brings its sample."""

from __future__ import annotations

from tests.providers.samples import postmark, resend, twilio

SAMPLES = {module.SAMPLE.name: module.SAMPLE for module in (twilio, postmark, resend)}
