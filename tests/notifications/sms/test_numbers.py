"""Which phone numbers an SMS may go to: kinds, countries, policies, and the field's cases (tests/cases/num-*)."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from urllib.parse import parse_qs

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from notifications.addresses import InvalidAddress
from notifications.sms.numbers import SENDABLE, WITH_LANDLINES, Kind, Number, Policy, read, read_from_network, written

CASES = Path(__file__).parents[2] / "cases"
PHONE_CASES = ("num-pasted-from-chat", "num-mexico-old-mobile-one", "num-renumbered-countries")
TYPES = {"FIXED_LINE_OR_MOBILE": "fixed_or_mobile"}

GERMAN, AMERICAN, SERVICE = "+4915112345678", "+14155550100", "+80012345678"


def vectors(*, possible: bool) -> list[object]:
    return [
        pytest.param(vector, id=f"{case}-{number}")
        for case in PHONE_CASES
        for number, vector in enumerate(json.loads((CASES / case / "vectors.json").read_text()))
        if vector["possible"] is possible
    ]


def example(region: str, kind: int) -> str:
    number = phonenumbers.example_number_for_type(region, kind)
    assert number is not None
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def refusal(text: str, region: str | None = None, policy: Policy | None = None) -> InvalidAddress:
    with pytest.raises(InvalidAddress) as caught:
        (policy or Policy()).check(read(text, region))
    return caught.value


class TestRead:
    @pytest.mark.parametrize("vector", vectors(possible=True))
    def test_knows_the_kind_of_the_numbers_of_the_field(self, vector):
        number = read(vector["input"], vector["region"])

        assert number.address == vector["e164"]
        assert number.kind == TYPES.get(vector["type"], vector["type"].lower())

    @pytest.mark.parametrize("vector", vectors(possible=False))
    def test_refuses_those_that_are_not_possible(self, vector):
        with pytest.raises(InvalidAddress):
            read(vector["input"], vector["region"])

    @pytest.mark.parametrize(("text", "region"), [("+52 1 55 1234 5678", None), ("1 55 1234 5678", "MX")])
    def test_names_the_one_that_mexico_abolished(self, text, region):
        assert refusal(text, region).reason == "has the 1 behind +52 that Mexico abolished in 2019"

    def test_reads_a_file_of_old_and_new_numbers_row_by_row(self):
        rows = (CASES / "num-renumbered-countries" / "rows.csv").read_text().splitlines()

        read_rows: dict[str, str] = {}
        for row in csv.DictReader(rows):
            try:
                read_rows[row["name"]] = read(row["to"]).kind
            except InvalidAddress as error:
                read_rows[row["name"]] = error.reason

        assert read_rows == {
            "Rui": Kind.UNKNOWN,  # taken: no number is refused for a range that the metadata do not know
            "Awa": "no number of this length exists there",
            "Koffi": Kind.MOBILE,
            "Bia": Kind.MOBILE,
        }

    @pytest.mark.parametrize(
        ("region", "type_", "kind"),
        [
            ("DE", PhoneNumberType.MOBILE, Kind.MOBILE),
            ("DE", PhoneNumberType.FIXED_LINE, Kind.FIXED_LINE),
            ("US", PhoneNumberType.FIXED_LINE_OR_MOBILE, Kind.FIXED_OR_MOBILE),
            ("DE", PhoneNumberType.PREMIUM_RATE, Kind.PREMIUM),
            ("DE", PhoneNumberType.SHARED_COST, Kind.SHARED_COST),
            ("DE", PhoneNumberType.TOLL_FREE, Kind.TOLL_FREE),
            ("GB", PhoneNumberType.PERSONAL_NUMBER, Kind.PERSONAL),
            ("FR", PhoneNumberType.VOIP, Kind.VOIP),
            ("GB", PhoneNumberType.PAGER, Kind.UNKNOWN),
        ],
    )
    def test_tells_kind_and_country(self, region, type_, kind):
        number = read(example(region, type_))

        assert (number.kind, number.country) == (kind, region)

    @pytest.mark.parametrize(
        ("text", "region", "kind"),
        [
            ("110", "DE", Kind.SHORT),
            (" 72345 ", "DE", Kind.SHORT),  # possible by its length as a number in Germany, which nobody has
            ("72345", "US", Kind.SHORT),
            ("911", "US", Kind.SHORT),
            ("112", "FR", Kind.SHORT),
            ("3949", "FR", Kind.SHORT),
            ("0151 12345678", "DE", Kind.MOBILE),
            ("20123456", "DK", Kind.FIXED_OR_MOBILE),  # eight digits are a whole number there
        ],
    )
    def test_tells_a_short_number_from_a_national_one(self, text, region, kind):
        assert read(text, region).kind == kind

    @pytest.mark.parametrize("text", ["110", "72345", "+49110", "INFO", ""])
    def test_reads_no_short_number_without_a_region(self, text):
        with pytest.raises(InvalidAddress):
            read(text)

    @pytest.mark.parametrize(
        ("text", "region", "address"),
        [
            ("0151 12345678", "DE", GERMAN),
            ("(415) 555-0100", "US", AMERICAN),
            ("+49 151 12345678", "US", GERMAN),
            ("06 12 34 56 78", "FR", "+33612345678"),
            ("٠٥٠١٢٣٤٥٦٧", "SA", "+966501234567"),
        ],
    )
    def test_reads_a_national_form_in_its_region(self, text, region, address):
        assert read(text, region).address == address


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
        assert read_from_network(text).address == address

    def test_finds_whose_stop_it_is(self):
        (sender,) = parse_qs((CASES / "num-mexico-old-mobile-one" / "inbound.form").read_text())["From"]

        assert read_from_network(sender) == read("+52 55 1234 5678")

    @pytest.mark.parametrize("text", ["", "INFO", "ACME15551234567", "72345", "+", "+1415", "0" * 12, "٠٥٠١٢٣٤٥٦٧"])
    def test_refuses_what_is_no_number(self, text):
        with pytest.raises(InvalidAddress):
            read_from_network(text)


class TestWritten:
    @pytest.mark.parametrize(
        ("text", "region", "form"),
        [
            (GERMAN, "DE", "01511 2345678"),
            (GERMAN, "US", "+49 1511 2345678"),
            (GERMAN, None, "+49 1511 2345678"),
            (AMERICAN, "US", "(415) 555-0100"),
            (AMERICAN, "CA", "+1 415-555-0100"),
        ],
    )
    def test_is_national_at_home_only(self, text, region, form):
        assert written(read(text), region) == form

    def test_leaves_a_short_number_as_it_is(self):
        assert written(read("110", "DE"), "DE") == "110"

    @settings(max_examples=200, deadline=None, database=None)
    @given(st.sampled_from(sorted(phonenumbers.SUPPORTED_REGIONS)), st.booleans())
    def test_can_be_read_back(self, region, at_home):
        address = example(region, PhoneNumberType.MOBILE) if has_mobiles(region) else GERMAN
        number = read(address)

        assert read(written(number, region if at_home else None), region).address == address


def has_mobiles(region: str) -> bool:
    return phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE) is not None


class TestPolicy:
    @pytest.mark.parametrize("text", [GERMAN, AMERICAN, "+525512345678", "+447700900123", "+551181234567", SERVICE])
    def test_lets_pass_what_can_be_an_ordinary_number(self, text):
        Policy().check(read(text))

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

    def test_refuses_short_numbers(self):
        assert refusal("72345", "US").reason == "is a short number, which only its own country's networks know"

    def test_lets_landlines_pass_where_that_is_wanted(self):
        Policy(kinds=WITH_LANDLINES).check(read(example("DE", PhoneNumberType.FIXED_LINE)))

    def test_says_which_kinds_are_accepted(self):
        assert (
            refusal("72345", "US").accepted
            == "numbers of these kinds: mobile, fixed_or_mobile, toll_free, voip, unknown"
        )

    @pytest.mark.parametrize(
        ("policy", "reason"),
        [
            (Policy(allowed_countries=frozenset({"FR", "GB"})), "is in DE, which is not allowed"),
            (Policy(denied_countries=frozenset({"DE"})), "is in DE, which is denied"),
            (Policy(frozenset({"DE", "FR"}), frozenset({"DE"})), "is in DE, which is denied"),
            (Policy(allowed_countries=frozenset()), "is in DE, which is not allowed"),
        ],
    )
    def test_refuses_a_country_that_is_not_allowed_or_denied(self, policy, reason):
        assert refusal(GERMAN, policy=policy).reason == reason

    def test_says_which_countries_are_accepted(self):
        allowed = Policy(frozenset({"FR", "GB", "US"}), frozenset({"GB"}), frozenset({Kind.MOBILE}))
        denied = Policy(denied_countries=frozenset({"DE"}), kinds=frozenset({Kind.MOBILE}))

        assert refusal(GERMAN, policy=allowed).accepted == "numbers of these kinds: mobile; in: FR, US"
        assert refusal(GERMAN, policy=denied).accepted == "numbers of these kinds: mobile; not in: DE"

    def test_lets_a_number_of_no_country_pass_only_where_all_are_allowed(self):
        Policy(denied_countries=frozenset({"DE"})).check(read(SERVICE))

        assert refusal(SERVICE, policy=Policy(frozenset({"DE"}))).reason == "is in no country, which is not allowed"

    def test_never_names_the_number(self):
        error = refusal(GERMAN, policy=Policy(frozenset({"FR"})))

        assert "15112345678" not in f"{error} {error.reason} {error.accepted}"

    @pytest.mark.parametrize("code", ["de", "XX", "Germany", ""])
    def test_has_countries_that_exist(self, code):
        with pytest.raises(ValueError, match="no such countries"):
            Policy(denied_countries=frozenset({code}))

    @pytest.mark.parametrize("kind", Kind)
    def test_has_words_for_every_kind(self, kind):
        with pytest.raises(InvalidAddress, match=r"^is an? "):
            Policy(kinds=frozenset()).check(Number(GERMAN, kind, "DE"))

    def test_has_kinds_by_itself_that_are_all_but_these(self):
        assert set(Kind) - SENDABLE == {Kind.FIXED_LINE, Kind.PREMIUM, Kind.SHARED_COST, Kind.PERSONAL, Kind.SHORT}
