"""Faults of senders: told apart from others, and with a sentence for operators."""

from __future__ import annotations

from typing import Any

import pytest

from providers.aws_sms import codes as aws_sms
from providers.bird import codes as bird
from providers.errors import ProviderError, SenderNotRegistered
from providers.messages import EventKind
from providers.plivo import codes as plivo
from providers.registry import PROVIDERS
from providers.sinch import codes as sinch
from providers.telnyx import codes as telnyx
from providers.twilio import codes as twilio
from providers.vonage import codes as vonage
from providers.vonage_sms import codes as vonage_sms
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import answer

ADVICE = {
    **{f"aws_sms {code}": advice for code, advice in aws_sms.SENDER_FAULTS.items()},
    **{f"vonage_sms {code}": advice for code, advice in vonage_sms.SENDER_FAULTS.items()},
    **{f"{name} {code}": advice for name in PROVIDERS for code, advice in PROVIDERS[name].sender_faults.items()},
}
FAILURES: dict[str, dict[Any, EventKind]] = {
    module.__name__.split(".")[1]: getattr(module, "FAILURES", None) or module.ABORTS  # type: ignore[attr-defined]
    for module in (bird, plivo, sinch, telnyx, twilio, vonage, vonage_sms)
}
BIRD = {"code": "E98765", "name": "SMSNoEligibleSender", "type": "validation_error"}
REFUSED = [
    ("twilio", 400, {"code": 30034}, twilio.SENDER_FAULTS[30034]),
    ("twilio", 403, {"code": 21408}, twilio.SENDER_FAULTS[21408]),
    ("telnyx", 400, {"errors": [{"code": "40010"}]}, telnyx.SENDER_FAULTS[40010]),
    ("plivo", 403, {"error": "geo"}, plivo.ENABLE_COUNTRY),
    ("bird", 422, {"error": BIRD}, bird.SENDER_FAULTS["SMSNoEligibleSender"]),
    (
        "aws_sms",
        400,
        {"__type": "ValidationException", "Reason": "SENDER_ID_NOT_REGISTERED"},
        aws_sms.SENDER_FAULTS["SENDER_ID_NOT_REGISTERED"],
    ),
    ("vonage", 422, {"type": "https://developer.vonage.com/api-errors/messages#1120"}, vonage.SENDER_FAULTS["1120"]),
    ("vonage_sms", 200, {"message-count": "1", "messages": [{"status": "15"}]}, vonage_sms.SENDER_FAULTS["15"]),
]


@pytest.mark.parametrize(("name", "status", "body", "advice"), REFUSED, ids=[f"{row[0]}-{row[1]}" for row in REFUSED])
def test_a_refusal_says_what_to_do(name: str, status: int, body: dict[str, Any], advice: str) -> None:
    with pytest.raises(SenderNotRegistered) as caught:
        SAMPLES[name].provider.send_result(answer(status, body))

    assert caught.value.advice == advice


def test_other_refusals_advise_nothing() -> None:
    with pytest.raises(ProviderError) as caught:
        SAMPLES["twilio"].provider.send_result(answer(400, {"code": 21606}))

    assert (type(caught.value).__name__, caught.value.advice) == ("SenderNotAllowed", "")


@pytest.mark.parametrize("advice", sorted(set(ADVICE.values())))
def test_an_advice_is_one_sentence_that_fits_where_it_is_kept(advice: str) -> None:
    assert advice[0].isupper()
    assert advice.endswith(".")
    assert ". " not in advice
    assert len(advice) < 200


@pytest.mark.parametrize("name", [name for name in sorted(PROVIDERS) if PROVIDERS[name].sender_faults])
def test_what_reports_say_of_a_sender_is_for_good(name: str) -> None:
    kinds = {FAILURES[name].get(key, EventKind.FAILED) for code in PROVIDERS[name].sender_faults for key in _keys(code)}

    assert kinds == {EventKind.FAILED}


def _keys(code: str) -> list[str | int]:
    return [code, int(code)] if code.isdigit() else [code]
