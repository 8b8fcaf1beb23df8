"""Credentials at rest: unreadable without the keys, readable with any of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core import serializers
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from notifications.models import ProviderAccount, encrypted

CREDENTIALS = {"account_sid": "AC0123456789", "auth_token": "grüße-from-the-vault", "nested": {"list": [1, None, True]}}

OLD, NEW, STRANGE = (Fernet.generate_key().decode() for _ in range(3))

pytestmark = pytest.mark.django_db


@pytest.fixture
def keys_are(settings: Any) -> Iterator[Callable[..., None]]:
    """Start the process again, as it were, with these CREDENTIAL_KEYS."""

    def change(*keys: str) -> None:
        settings.CREDENTIAL_KEYS = list(keys)
        encrypted._cipher.cache_clear()

    yield change
    encrypted._cipher.cache_clear()


def store(slug: str = "pigeon", credentials: Any = CREDENTIALS) -> ProviderAccount:
    return ProviderAccount.objects.create(slug=slug, provider="twilio", channels=["sms"], credentials=credentials)


def at_rest(slug: str = "pigeon") -> bytes:
    with connection.cursor() as cursor:
        cursor.execute("SELECT credentials FROM provider_account WHERE slug = %s", [slug])
        return bytes(cursor.fetchone()[0])


def read(slug: str = "pigeon") -> Any:
    return ProviderAccount.objects.get(slug=slug).credentials


class TestCredentials:
    @pytest.mark.parametrize("value", [CREDENTIALS, {}, [], "text", 0, False, {"empty": ""}], ids=str)
    def test_come_back_as_they_were_stored(self, value):
        store(credentials=value)

        assert read() == value

    @pytest.mark.parametrize("readable", ["account_sid", "AC0123456789", "auth_token", "vault", "{", '"'])
    def test_hold_nothing_readable_at_rest(self, readable):
        store()

        assert readable.encode() not in at_rest()

    def test_do_not_look_alike_where_they_are_alike(self):
        store("one")
        store("other")

        assert at_rest("one") != at_rest("other")

    def test_are_not_serialized(self):
        account = store()

        with pytest.raises(TypeError, match="not serialized"):
            serializers.serialize("json", [account])


class TestKeyRotation:
    def test_reads_with_an_old_key_what_the_old_key_wrote(self, keys_are):
        keys_are(OLD)
        store()

        keys_are(NEW, OLD)

        assert read() == CREDENTIALS

    def test_writes_with_the_newest_key(self, keys_are):
        keys_are(NEW, OLD)
        store()

        assert json.loads(Fernet(NEW).decrypt(at_rest())) == CREDENTIALS

    def test_is_over_for_a_row_once_it_was_saved_again(self, keys_are):
        keys_are(OLD)
        store()
        keys_are(NEW, OLD)
        ProviderAccount.objects.get().save()

        keys_are(NEW)

        assert read() == CREDENTIALS


class TestWithoutAFittingKey:
    def test_says_which_setting_is_at_fault(self, keys_are):
        keys_are(OLD)
        store()
        keys_are(NEW)

        with pytest.raises(ImproperlyConfigured, match="CREDENTIAL_KEYS holds no key that opens"):
            read()

    def test_says_the_same_of_bytes_that_were_tampered_with(self):
        store()
        with connection.cursor() as cursor:
            cursor.execute("UPDATE provider_account SET credentials = substr(credentials, 2)")

        with pytest.raises(ImproperlyConfigured, match="CREDENTIAL_KEYS"):
            read()

    @pytest.mark.parametrize("keys", [[], [""], ["no key"], [OLD, "no key"]], ids=["none", "empty", "bad", "one bad"])
    def test_says_what_a_key_must_be_before_anything_is_stored(self, keys_are, keys):
        keys_are(*keys)

        with pytest.raises(ImproperlyConfigured, match="CREDENTIAL_KEYS must hold at least one Fernet key"):
            store()

    def test_does_not_quote_the_key(self, keys_are):
        keys_are("a-key-that-is-none")

        with pytest.raises(ImproperlyConfigured) as caught:
            store()

        assert "a-key-that-is-none" not in str(caught.value)
