"""Devices: how their names are written, and that none of them stays in what others write."""

from __future__ import annotations

import json

import pytest

from notifications.addresses import redact_answer
from notifications.devices import device, spellings

TOKEN = "fEXAMPLE:APA91bEXAMPLE_token-01"
ENDPOINT = "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"
KEYS = {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV", "auth": "BTBZMqHH6r4Tts7J_aSIgg"}


@pytest.mark.parametrize("service", ["fcm", "fcm/shop", "apns"])
@pytest.mark.parametrize("said", ["{0}", "token {0} is not valid", '{{"token":"{0}"}}', "message.token: '{0}'"])
def test_a_token_is_hidden_without_its_service(service, said):
    hidden = redact_answer(said.format(TOKEN).encode(), *spellings("push", f"{service}:{TOKEN}"))

    assert TOKEN not in hidden
    assert "APA91b" not in hidden


@pytest.mark.parametrize("said", [ENDPOINT, "/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", *KEYS.values(), json.dumps(KEYS)])
def test_nothing_of_a_subscription_is_shown(said):
    address = device({"endpoint": ENDPOINT, "keys": KEYS})

    hidden = redact_answer(f"no such subscription: {said}".encode(), *spellings("push", address))

    assert "no such subscription" in hidden
    assert not any(secret in hidden for secret in ("JzLQ3ra", *KEYS.values()))


def test_other_addresses_are_spelt_one_way():
    assert spellings("sms", "+4915112345678") == ["+4915112345678"]
