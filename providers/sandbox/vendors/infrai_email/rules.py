"""What Infrai's e-mail does not take. Its fields are in its documentation, what it says to others is a guess."""

from __future__ import annotations

import json
import re
from typing import Any

from providers.sandbox import roles
from providers.sandbox.infrai import Objection

ADDRESS = re.compile(r"[^@\s<>(),;:\"\[\]\\]+@[^@\s<>(),;:\"\[\]\\_]+\.[^@\s<>(),;:\"\[\]\\_.]+")
MEMBERS = {"to", "subject", "text", "html", "from", "template_id", "template_vars", "vendor", "idempotency_key"}
LISTS = {"cc", "bcc", "attachments"}
TEXTS = MEMBERS - {"to", "template_vars"}


def read(body: bytes) -> dict[str, Any] | Objection:
    """Read a request to send, or say what is the first thing wrong with it."""
    try:
        mail = json.loads(body)
    except ValueError:
        mail = None
    if not isinstance(mail, dict) or set(mail) - MEMBERS - LISTS:
        return Objection(400, "INVALID_REQUEST")
    if not all(isinstance(mail.get(name, ""), str) for name in TEXTS):
        return Objection(422, "INVALID_REQUEST")
    addresses = addresses_of(mail.get("to"))
    if not addresses or not all(map(_is_taken, addresses)):
        return Objection(422, "INVALID_RECIPIENT")
    if not mail.get("subject"):
        return Objection(422, "MISSING_SUBJECT")
    if not any(mail.get(name) for name in ("text", "html", "template_id")):
        return Objection(422, "MISSING_BODY")
    return mail


def addresses_of(to: Any) -> list[Any]:
    """Those a mail is for: a text, or a list of them."""
    return to if isinstance(to, list) else [to]


def _is_taken(address: Any) -> bool:
    is_address = isinstance(address, str) and ADDRESS.fullmatch(address) is not None
    return is_address and not roles.of_address(address).refusal
