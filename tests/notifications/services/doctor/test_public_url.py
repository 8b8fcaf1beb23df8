"""Addresses that providers cannot call, or that we would not answer to, are found."""

from __future__ import annotations

import pytest

from notifications.services.doctor.public_url import findings, is_loopback, is_private
from tests.notifications.finding import codes, said

FORMS = {
    "https://notify.example.org": [],
    "https://notify.example.org:8443": [],
    "https://[2a00:1450:4001::1]:8443": [],
    "http://localhost:8000": [],
    "http://127.0.0.1:8000": [],
    "http://[::1]:8000": [],
    "": ["E020"],
    "notify.example.org": ["E020"],
    "//notify.example.org": ["E020"],
    "ftp://notify.example.org": ["E020"],
    "https://": ["E020"],
    "https://notify.example.org:port": ["E020"],
    "https://[::1": ["E020"],
    "http://notify.example.org": ["W021"],
    "http://10.0.0.7": ["W021"],
    "https://ana:k7Qz41mX@notify.example.org": ["E022"],
    "https://notify_1.example.org": ["E023"],
    "https://notify.example.org?a=1": ["E024"],
    "https://notify.example.org#a": ["E024"],
    "https://notify.example.org/landfall": ["W024"],
}
HOSTS = {  # host -> (is it this machine, does only this network know it)
    "localhost": (True, True),
    "app.localhost": (True, True),
    "127.1.2.3": (True, True),
    "0.0.0.0": (True, True),
    "::1": (True, True),
    "10.0.0.7": (False, True),
    "169.254.169.254": (False, True),
    "fd00::1": (False, True),
    "landfall": (False, True),
    "landfall.internal": (False, True),
    "notify.example.org": (False, False),
    "8.8.8.8": (False, False),
    "localhost.example.org": (False, False),
}


class TestForm:
    @pytest.mark.parametrize(("url", "expected"), FORMS.items(), ids=lambda value: str(value) or "empty")
    def test_is_one_that_providers_can_call(self, settings, url, expected):
        settings.PUBLIC_URL, settings.ALLOWED_HOSTS = url, ["*"]

        assert codes(findings()) == expected

    def test_with_a_password_is_not_shown(self, settings):
        settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "http://ana:k7Qz41mX@notify.example.org/a?b#c", []

        assert "k7Qz41mX" not in " ".join(map(str, findings()))


class TestAllowedHosts:
    @pytest.mark.parametrize(
        ("url", "allowed", "is_well"),
        [
            ("https://notify.example.org", ["notify.example.org"], True),
            ("https://Notify.Example.org:8443", [".example.org"], True),
            ("http://[::1]:8000", ["[::1]"], True),
            ("https://notify.example.org", ["localhost", "127.0.0.1"], False),
            ("https://notify.example.org", [], False),
            ("http://localhost:8000", ["127.0.0.1"], False),
        ],
    )
    def test_must_hold_the_host(self, settings, url, allowed, is_well):
        settings.PUBLIC_URL, settings.ALLOWED_HOSTS = url, allowed

        assert codes(findings()) == ([] if is_well else ["E025"])

    def test_names_the_host_to_add(self, settings):
        settings.PUBLIC_URL = "https://notify.example.org"

        assert "Add notify.example.org to ALLOWED_HOSTS." in said(findings(), "E025")

    def test_may_be_empty_while_debugging_on_this_machine(self, settings):
        settings.PUBLIC_URL, settings.ALLOWED_HOSTS, settings.DEBUG = "http://localhost:8000", [], True

        assert codes(findings()) == []


class TestDebug:
    def test_on_a_public_address_is_an_error(self, settings):
        settings.PUBLIC_URL, settings.ALLOWED_HOSTS, settings.DEBUG = "https://notify.example.org", ["*"], True

        assert codes(findings()) == ["E026"]


class TestHosts:
    @pytest.mark.parametrize(("host", "expected"), HOSTS.items(), ids=HOSTS)
    def test_are_known_by_who_can_reach_them(self, host, expected):
        assert (is_loopback(host), is_private(host)) == expected
