"""What AWS End User Messaging does not take, and its names for it. Limits and names: the service model in botocore 1.44.8.

Which exception a wrong field meets is the model's; texts are the sandbox's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from providers.sandbox import roles

NUMBER = re.compile(r"\+?[1-9][0-9]{1,18}", re.ASCII)
SENDER = re.compile(r"[A-Za-z0-9_:/+-]{1,256}", re.ASCII)
SET = re.compile(r"[A-Za-z0-9_:/-]{1,256}", re.ASCII)
PRICE = re.compile(r"[0-9]{0,2}\.[0-9]{1,8}", re.ASCII)
BODY_LIMIT = 1600
TYPES = ("TRANSACTIONAL", "PROMOTIONAL")
LIFE_SECONDS = range(5, 259_200 + 1)
PAIRS_LIMIT, NAME_LIMIT, VALUE_LIMIT = 5, 100, 800
MEMBERS = {
    "DestinationPhoneNumber",
    "OriginationIdentity",
    "MessageBody",
    "MessageType",
    "Keyword",
    "ConfigurationSetName",
    "MaxPrice",
    "TimeToLive",
    "Context",
    "DestinationCountryParameters",
    "DryRun",
    "ProtectConfigurationId",
    "MessageFeedbackEnabled",
}


class Objection(NamedTuple):
    exception: str
    reason: str | None = None
    field: str | None = None


OPTED_OUT = Objection("ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT")


def objection(sms: Mapping[str, Any]) -> Objection | None:
    """The first thing wrong with a request to send, None when all is well."""
    if unknown := sorted(set(sms) - MEMBERS):
        return Objection("ValidationException", "UNSPECIFIED_PARAMETER_NOT_SUPPORTED", unknown[0])
    if not sms.get("DestinationPhoneNumber"):
        return Objection("ValidationException", "MISSING_PARAMETER", "DestinationPhoneNumber")
    wrong = next((name for name, fits in CHECKS.items() if name in sms and not fits(sms[name])), None)
    if wrong is not None:
        return Objection("ValidationException", "FIELD_VALIDATION_FAILED", wrong)
    if not sms.get("OriginationIdentity"):
        return Objection("ConflictException", "NO_ORIGINATION_IDENTITIES_FOUND")
    return OPTED_OUT if roles.of_number(sms["DestinationPhoneNumber"]).refusal == "opted out" else None


def _is_number(value: Any) -> bool:
    is_one = isinstance(value, str) and NUMBER.fullmatch(value) is not None
    return is_one and roles.of_number(value).refusal != "invalid"


def _is(shape: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and shape.fullmatch(value) is not None


def _is_body(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= BODY_LIMIT and bool(value.strip())


def _is_context(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= PAIRS_LIMIT and all(map(_is_pair, value.items()))


def _is_pair(pair: tuple[str, Any]) -> bool:
    name, value = pair
    is_name = 1 <= len(name) <= NAME_LIMIT and not re.search(r"\s", name)
    return is_name and isinstance(value, str) and 1 <= len(value) <= VALUE_LIMIT and value == value.strip()


CHECKS = {
    "DestinationPhoneNumber": _is_number,
    "OriginationIdentity": lambda value: _is(SENDER, value),
    "MessageBody": _is_body,
    "MessageType": lambda value: value in TYPES,
    "ConfigurationSetName": lambda value: _is(SET, value),
    "MaxPrice": lambda value: _is(PRICE, value) and 2 <= len(value) <= 8,
    "TimeToLive": lambda value: isinstance(value, int) and value in LIFE_SECONDS,
    "Context": _is_context,
}
