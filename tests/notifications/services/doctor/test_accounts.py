"""Accounts that cannot send, or cannot hear, are found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone

from notifications.models import Breaker, Cause, ProviderAccount, Route, encrypted
from notifications.services.doctor.accounts import findings
from tests import factories
from tests.factories import CREDENTIALS
from tests.notifications.finding import codes, said
from tests.providers.samples import SAMPLES as PROVIDER_SAMPLES

BIRD = {"api_key": "k" * 32, "webhook_secret": "whsec_" + "c2VjcmV0" * 4}
VONAGE_SMS = {"api_key": "abcd1234", "api_secret": "s" * 16, "signature_secret": "s" * 32}

pytestmark = pytest.mark.usefixtures("complete")


@pytest.fixture
def complete(seeded: None, settings: Any) -> None:
    """An account for each channel, and an address that providers can reach."""
    settings.PUBLIC_URL = "https://notify.example.org"
    factories.account("sms")
    factories.account("mail", "postmark")


def change(slug: str, **fields: Any) -> None:
    row = factories.account(slug)
    for name, value in fields.items():
        setattr(row, name, value)
    row.save()


def shown() -> str:
    return " ".join(map(str, findings()))


class TestComplete:
    def test_is_well(self):
        assert codes(findings()) == []


class TestProvider:
    def test_that_does_not_exist_is_an_error(self):
        factories.account("old", "pigeon", is_on=False)

        assert "'pigeon', which is no provider" in said(findings(), "E060")

    def test_that_does_not_send_a_channel_is_an_error(self):
        change("mail", channels=["email", "sms"])

        assert "Account mail is to send sms, which postmark does not." in said(findings(), "E061")


class TestCredentials:
    def test_that_no_key_opens_are_an_error(self, settings):
        settings.CREDENTIAL_KEYS = [Fernet.generate_key().decode()]
        encrypted._cipher.cache_clear()
        try:
            found = list(findings())
        finally:
            encrypted._cipher.cache_clear()

        assert codes(found) == ["E062", "E062"]

    @pytest.mark.parametrize("stored", [{}, {"account_sid": "", "auth_token": None}, []])
    def test_that_are_missing_are_named(self, stored):
        change("sms", credentials=stored)

        assert "Account sms lacks account_sid and auth_token: it cannot send." in said(findings(), "E063")

    def test_for_receipts_that_are_missing_are_named(self):
        change("mail", credentials={**CREDENTIALS["postmark"], "webhook_password": ""})

        assert "Account mail lacks webhook_password: every receipt is refused." in said(findings(), "E064")

    def test_are_never_shown(self):
        change("sms", credentials={"account_sid": CREDENTIALS["twilio"]["account_sid"]}, settings={})
        change("mail", credentials={"server_token": "k7Qz41mX"}, settings={})

        assert CREDENTIALS["twilio"]["account_sid"] not in shown()
        assert "k7Qz41mX" not in shown()


class TestSender:
    @pytest.mark.parametrize("slug", ["sms", "mail"])
    def test_that_is_missing_is_an_error(self, slug):
        change(slug, settings={})

        assert f"Account {slug} has no sender" in said(findings(), "E065")

    @pytest.mark.parametrize("name", ["apns", "fcm", "webpush"])
    def test_of_pushes_signs_with_a_key_that_can_be_read(self, name):
        known = PROVIDER_SAMPLES[name].provider.account
        phones = factories.account(
            "phones", name, channels=["push"], credentials=dict(known.credentials), settings=dict(known.settings)
        )
        assert codes(findings()) == []

        key = next(word for word in known.credentials if word.endswith("private_key"))
        phones.credentials = {**known.credentials, key: "no key"}
        phones.save()

        assert "Account phones cannot send push: AuthenticationFailed" in said(findings(), "E065")

    def test_may_be_a_messaging_service(self):
        change("sms", settings={"messaging_service_sid": "MG" + "1" * 32})

        assert codes(findings()) == []

    @pytest.mark.parametrize(
        ("countries", "others"),
        [([], "any country but AT and DE, where"), (["DE", "US", "FR"], "FR and US, where"), (["DE"], None)],
    )
    def test_that_is_missing_in_some_countries_is_a_warning(self, countries, others):
        senders = {"DE": "Landfall", "AT": "Landfall"}
        factories.account("by-country", "bird", countries=countries, settings={"senders": senders}, credentials=BIRD)

        if others is None:
            assert codes(findings()) == []
        else:
            assert f"Account by-country may be chosen for {others} it has no sender." in said(findings(), "W073")

    def test_is_not_asked_of_an_account_that_is_off(self):
        factories.account("spare", settings={}, is_on=False)

        assert codes(findings()) == []


class TestSettings:
    def test_that_the_provider_does_not_know_are_a_warning(self):
        change("sms", settings={"from": "+15005550006", "From": "+15005550006", "look_up_delay_seconds": 1.0})

        assert "settings that twilio does not know: From." in said(findings(), "W066")


class TestReceipts:
    @pytest.mark.parametrize("url", ["http://localhost:8000", "http://10.0.0.7", "http://landfall"])
    def test_that_cannot_reach_us_are_a_warning(self, settings, url):
        settings.PUBLIC_URL = url
        change("mail", is_on=False)

        assert "Account sms: api.twilio.com cannot reach PUBLIC_URL" in said(findings(), "W067")

    def test_come_from_a_sandbox_on_this_machine(self, settings):
        settings.PUBLIC_URL = "http://localhost:8000"
        for slug in ("sms", "mail"):
            change(slug, base_url="http://127.0.0.1:8025/twilio")

        assert codes(findings()) == []

    @pytest.mark.parametrize(("characters", "is_wrong"), [(100, False), (101, True)])
    def test_go_to_an_address_that_the_provider_takes(self, settings, characters, is_wrong):
        settings.PUBLIC_URL = f"https://{'n' * (characters - len('https://.example/webhooks/older/'))}.example"
        factories.account("older", "vonage_sms", credentials=VONAGE_SMS)

        assert codes(findings()) == (["E074"] if is_wrong else [])
        if is_wrong:
            assert "has 101 characters, vonage_sms takes 100: it cannot send" in said(findings(), "E074")


class TestOpened:
    def test_is_a_warning_with_reason_and_time(self):
        factories.account("second")
        change("sms", opened_at=datetime(2026, 11, 30, 8, 5, tzinfo=UTC), opened_reason="InsufficientBalance 63038")

        sentence = said(findings(), "W068")

        assert "Account sms has been out of use since 2026-11-30 08:05 UTC: InsufficientBalance 63038." in sentence

    def test_in_one_country_is_a_warning_with_what_to_do(self):
        row = ProviderAccount.objects.get(slug="sms")
        for country, cause in (("US", Cause.REGISTRATION), ("FR", Cause.CALLS)):
            Breaker.objects.create(
                account=row, country=country, cause=cause, detail="Register it.", opened_until=timezone.now()
            )

        found = list(findings())

        assert codes(found) == ["W072"], "calls that fail mend themselves"
        assert "Account sms has rested in US since" in said(found, "W072")
        assert "UTC: Register it." in said(found, "W072")

    def test_is_an_error_when_it_was_the_last_of_its_channel(self):
        change("sms", opened_at=datetime(2026, 11, 30, tzinfo=UTC), opened_reason="AuthenticationFailed")

        assert codes(findings()) == ["E069", "W068"]


class TestRoutes:
    def test_without_an_account_for_a_channel_are_named(self):
        change("mail", is_on=False)

        assert (
            "No account that is on sends email, as needed by routes email, push-then-sms-then-email and sms-then-email."
            in said(findings(), "W069")
        )

    def test_need_accounts_for_their_channels_only(self):
        change("mail", is_on=False)
        Route.objects.exclude(name="sms").delete()

        assert codes(findings()) == []

    @pytest.mark.parametrize("steps", [None, "sms", [1], [{"channel": ["sms"]}]])
    def test_that_are_none_ask_for_nothing(self, steps):
        Route.objects.create(name="strange", steps=steps if steps is not None else {})

        assert codes(findings()) == []
