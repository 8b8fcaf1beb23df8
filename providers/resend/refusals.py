"""How Resend says no: a status, and an error by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers import reading, retry_after
from providers.base import error_for_status
from providers.errors import ProviderError
from providers.messages import HttpResponse
from providers.resend.codes import FAULTS, REFUSALS, VAGUE, VALIDATION_ERRORS


def refusal(answer: HttpResponse, fields: Mapping[str, Any]) -> ProviderError:
    name = reading.word(fields.get("name"))
    if not re.fullmatch("[a-z_]{1,50}", name):
        name = ""  # no name of theirs, and perhaps an address
    kind = _kind(answer.status, name, str(fields.get("message")))
    return kind(
        f"HTTP {answer.status}, {name}" if name else f"HTTP {answer.status}",
        code=name,
        http_status=answer.status,
        retry_after_seconds=retry_after.from_headers(answer.headers),
    )


def _kind(status: int, name: str, message: str) -> type[ProviderError]:
    if status >= 500:  # may have been sent, whatever its name
        return error_for_status(status)
    by_status = VALIDATION_ERRORS if name == "validation_error" else {}
    listed = REFUSALS.get(name) or by_status.get(status)
    if listed is not None and name in VAGUE:
        return next((error for start, error in FAULTS.items() if message.startswith(start)), listed)
    return listed or error_for_status(status)
