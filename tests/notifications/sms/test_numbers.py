"""Which phone numbers an SMS may go to, and how networks write them (tests/cases/num-*)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from notifications.addresses import InvalidAddress
from notifications.sms.kinds import Kind
from notifications.sms.numbers import KINDS, SENDABLE, Policy, read_from_network

CASES = Path(__file__).parents[2] / "cases"

GERMAN, AMERICAN, SERVICE = "+4915112345678", "+14155550100", "+80012345678"


def example(region: str, kind: int) -> str:
    number = phonenumbers.example_number_for_type(region, kind)
    assert number is not None
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def refusal(address: str, policy: Policy | None = None) -> InvalidAddress:
    with pytest.raises(InvalidAddress) as caught:
        (policy or Policy()).check(address)
    return caught.value


class TestReadFromNetwork:
    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("+5215512345678", "+525512345678"),
            ("5215512345678", "+525512345678"),
            (" 5215512345678", "+525512345678"),  # a plus that a form has decoded
            ("+525512345678", "+525512345678"),
            ("4915112345678", GERMAN),
            (GERMAN, GERMAN),
        ],
    )
    def test_finds_the_number_however_a_network_writes_it(self, text, address):
        assert read_from_network(text) == address

    def test_finds_whose_stop_it_is(self):
        (sender,) = parse_qs((CASES / "num-mexico-old-mobile-one" / "inbound.form").read_text())["From"]

        assert read_from_network(sender) == "+525512345678"

    @pytest.mark.parametrize("text", ["", "INFO", "ACME15551234567", "72345", "+", "+1415", "0" * 12, "٠٥٠١٢٣٤٥٦٧"])
    def test_refuses_what_is_no_number(self, text):
        with pytest.raises(InvalidAddress):
            read_from_network(text)


class TestPolicy:
    @pytest.mark.parametrize("address", [GERMAN, AMERICAN, "+525512345678", "+447700900123", "+551181234567", SERVICE])
    def test_lets_pass_what_can_be_an_ordinary_number(self, address):
        Policy().check(address)

    def test_lets_the_numbers_pass_that_vendors_have_for_trials(self):
        Policy().check("+15005550006")

        assert refusal("+15005560006").reason.startswith("is a personal number")

    @pytest.mark.parametrize(
        ("region", "type_", "reason"),
        [
            ("DE", PhoneNumberType.PREMIUM_RATE, "is a premium-rate number"),
            ("US", PhoneNumberType.PREMIUM_RATE, "is a premium-rate number"),
            ("DE", PhoneNumberType.SHARED_COST, "is a shared-cost number"),
            ("GB", PhoneNumberType.PERSONAL_NUMBER, "is a personal number, forwarded at a price nobody knows"),
            ("DE", PhoneNumberType.FIXED_LINE, "is a landline number"),
        ],
    )
    def test_refuses_by_itself_what_costs_or_cannot_read(self, region, type_, reason):
        assert refusal(example(region, type_)).reason == reason

    @pytest.mark.parametrize("kinds", [SENDABLE | {Kind.FIXED_LINE}, KINDS])
    def test_lets_landlines_pass_where_that_is_wanted(self, kinds):
        Policy(kinds).check(example("DE", PhoneNumberType.FIXED_LINE))

    def test_says_which_kinds_are_accepted(self):
        accepted = refusal(example("DE", PhoneNumberType.FIXED_LINE)).accepted

        assert accepted == "numbers of these kinds: mobile, fixed_or_mobile, toll_free, voip, unknown"

    def test_refuses_other_countries_where_some_are_named(self):
        error = refusal(GERMAN, Policy(countries=frozenset({"GB", "FR"})))

        assert (error.reason, error.accepted) == (
            "is in a country where this client sends no SMS",
            "numbers in FR, GB",
        )

    def test_lets_a_number_of_no_country_pass_only_where_all_are_open(self):
        Policy().check(SERVICE)

        refusal(SERVICE, Policy(countries=frozenset({"DE"})))

    def test_never_names_the_number(self):
        error = refusal(GERMAN, Policy(countries=frozenset({"FR"})))

        assert "15112345678" not in f"{error} {error.reason} {error.accepted}"

    @pytest.mark.parametrize(
        ("address", "kind"),
        [
            (GERMAN, Kind.MOBILE),
            (AMERICAN, Kind.FIXED_OR_MOBILE),
            (SERVICE, Kind.TOLL_FREE),
            ("+551181234567", Kind.UNKNOWN),
            (example("FR", PhoneNumberType.VOIP), Kind.VOIP),
        ],
    )
    def test_refuses_every_kind_that_is_not_named(self, address, kind):
        with pytest.raises(InvalidAddress, match=r"^is an? "):
            Policy(KINDS - {kind}).check(address)

    def test_has_kinds_by_itself_that_are_all_but_these(self):
        assert {Kind.FIXED_LINE, Kind.PREMIUM, Kind.SHARED_COST, Kind.PERSONAL} == KINDS - SENDABLE
