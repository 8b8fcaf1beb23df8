"""Secrets that are missing or could be guessed are found, and never shown."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from cryptography.fernet import Fernet

from config.launcher.__main__ import fresh_secrets
from notifications.services.doctor.secrets import findings, weakness
from tests.notifications.finding import codes, said

WEAK = {
    "short": "k7Qz-41m",
    "repeats": "k7Qz-41mXw_90bTy" * 3,
    "repeats one letter": "a" * 50,
    "looks like": "ChangeMe-ChangeMe-ChangeMe-ChangeMe-42",
    '"insecure"': "django-insecure-k7Qz41mXw90bTyLpO3c8VnRs5Hd2",
}


@pytest.fixture(autouse=True)
def public(settings):
    settings.PUBLIC_URL = "https://notify.example.org"


class TestFresh:
    def test_are_well(self, settings):
        for _ in range(100):
            fresh = fresh_secrets()
            settings.SECRET_KEY = fresh["SECRET_KEY"]
            settings.ADDRESS_KEY = fresh["ADDRESS_KEY"].encode()
            settings.CREDENTIAL_KEYS = [fresh["CREDENTIAL_KEYS"], Fernet.generate_key().decode()]

            assert codes(findings()) == []


class TestMissing:
    @pytest.mark.parametrize(("name", "value"), [("SECRET_KEY", ""), ("ADDRESS_KEY", b""), ("CREDENTIAL_KEYS", [])])
    def test_are_named(self, settings, name, value):
        setattr(settings, name, value)

        assert said(findings(), "E001").startswith(f"{name} is not set.")


class TestWeak:
    @pytest.mark.parametrize("name", ["SECRET_KEY", "ADDRESS_KEY"])
    @pytest.mark.parametrize(("reason", "value"), WEAK.items(), ids=WEAK)
    def test_are_errors_that_do_not_show_them(self, settings, name, reason, value):
        setattr(settings, name, value.encode() if name == "ADDRESS_KEY" else value)

        sentence = said(findings(), "E002")

        assert name in sentence
        assert reason.removesuffix(" one letter") in sentence
        assert value not in sentence

    def test_are_warnings_where_nobody_else_calls(self, settings):
        settings.SECRET_KEY = WEAK["short"]
        settings.PUBLIC_URL = "http://127.0.0.1:8000"

        assert codes(findings()) == ["W002"]

    def test_fernet_keys_are_found_too(self, settings):
        settings.CREDENTIAL_KEYS = [Fernet.generate_key().decode(), urlsafe_b64encode(bytes(32)).decode()]

        assert "Key 2 of 2 in CREDENTIAL_KEYS repeats itself" in said(findings(), "E002")

    def test_is_what_is_used_twice(self, settings):
        settings.ADDRESS_KEY = settings.SECRET_KEY.encode()

        assert codes(findings()) == ["W004"]

    def test_is_not_what_merely_ends_on_a_wrong_byte(self, settings):
        settings.ADDRESS_KEY = bytes(range(130, 190))

        assert codes(findings()) == []


class TestCredentialKeys:
    def test_that_are_no_fernet_keys_are_errors_that_do_not_show_them(self, settings):
        settings.CREDENTIAL_KEYS = ["k7Qz-41mXw_90bTyLpO3c8VnRs5Hd2"]

        sentence = said(findings(), "E003")

        assert sentence.startswith("CREDENTIAL_KEYS is no Fernet key")
        assert "k7Qz" not in sentence


def test_a_long_random_text_has_no_weakness():
    assert weakness("k7Qz-41mXw_90bTyLpO3c8VnRs5Hd2fGjA6") is None
