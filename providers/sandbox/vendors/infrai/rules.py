"""What Infrai's SMS does not take."""

from __future__ import annotations

import json
import re
from typing import Any

from providers.sandbox import roles
from providers.sandbox.infrai import Objection

NUMBER = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
MEMBERS = {"to", "body", "from", "template_id", "vendor", "idempotency_key"}


def read(body: bytes) -> dict[str, Any] | Objection:
    """Read a request to send, or say what is the first thing wrong with it."""
    try:
        sms = json.loads(body)
    except ValueError:
        sms = None
    if not isinstance(sms, dict) or set(sms) - MEMBERS:
        return Objection(400, "INVALID_REQUEST")
    if not all(isinstance(value, str) for value in sms.values()):
        return Objection(422, "INVALID_REQUEST")
    to = sms.get("to", "")
    if not NUMBER.fullmatch(to) or roles.of_number(to).refusal == "invalid":
        return Objection(422, "INVALID_RECIPIENT")
    if not sms.get("body") and not sms.get("template_id"):
        return Objection(422, "MISSING_BODY")
    return sms
