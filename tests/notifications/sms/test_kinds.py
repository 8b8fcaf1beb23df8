"""What kind a number is and where: the field's cases (tests/cases/num-*), and phonenumbers itself as the oracle."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import phonenumbers
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, NumberParseException, PhoneNumberFormat, PhoneNumberType

from notifications.addresses import InvalidAddress, normalise
from notifications.sms.kinds import Kind, country_of, is_short, kind_of
from providers.messages import Channel

CASES = Path(__file__).parents[2] / "cases"
PHONE_CASES = ("num-pasted-from-chat", "num-mexico-old-mobile-one", "num-renumbered-countries")
KINDS = {
    PhoneNumberType.MOBILE: Kind.MOBILE,
    PhoneNumberType.FIXED_LINE: Kind.FIXED_LINE,
    PhoneNumberType.FIXED_LINE_OR_MOBILE: Kind.FIXED_OR_MOBILE,
    PhoneNumberType.PREMIUM_RATE: Kind.PREMIUM,
    PhoneNumberType.SHARED_COST: Kind.SHARED_COST,
    PhoneNumberType.TOLL_FREE: Kind.TOLL_FREE,
    PhoneNumberType.PERSONAL_NUMBER: Kind.PERSONAL,
    PhoneNumberType.VOIP: Kind.VOIP,
}
TYPES = [getattr(PhoneNumberType, name) for name in vars(PhoneNumberType) if name.isupper()]
DIGITS = "0123456789"


def vectors() -> list[object]:
    return [
        pytest.param(vector, id=f"{case}-{number}")
        for case in PHONE_CASES
        for number, vector in enumerate(json.loads((CASES / case / "vectors.json").read_text()))
        if vector["possible"]
    ]


def examples() -> dict[int, list[str]]:
    """What the metadata give as an example of each type in each region, without country code."""
    found: dict[int, list[str]] = {}
    for code, regions in COUNTRY_CODE_TO_REGION_CODE.items():
        numbers = [phonenumbers.example_number_for_non_geo_entity(code)]
        numbers += [phonenumbers.example_number_for_type(region, type_) for region in regions for type_ in TYPES]
        found[code] = sorted({phonenumbers.national_significant_number(number) for number in numbers if number})
    return found


EXAMPLES = examples()


def told(address: str) -> tuple[Kind, str] | None:
    """Kind and country as phonenumbers tells them; None where it cannot read the number."""
    try:
        parsed = phonenumbers.parse(address)
    except NumberParseException:
        return None
    region = phonenumbers.region_code_for_number(parsed)
    return KINDS.get(phonenumbers.number_type(parsed), Kind.UNKNOWN), region if region and len(region) == 2 else ""


@st.composite
def neighbours(draw: st.DrawFn) -> str:
    """A number of any country that differs from an example in up to three digits and at its end."""
    code = draw(st.sampled_from(sorted(EXAMPLES)))
    digits = list(draw(st.sampled_from(EXAMPLES[code])))
    for place in draw(st.lists(st.integers(0, len(digits) - 1), max_size=3)):
        digits[place] = draw(st.sampled_from(DIGITS))
    return f"+{code}{''.join(digits)}{draw(st.text(DIGITS, max_size=2))}"


def anywhere() -> st.SearchStrategy[str]:
    return st.builds("+{}{}".format, st.sampled_from(sorted(EXAMPLES)), st.text(DIGITS, min_size=3, max_size=13))


class TestKindAndCountry:
    @pytest.mark.parametrize("vector", vectors())
    def test_are_those_of_the_field(self, vector):
        address = normalise(Channel.SMS, vector["input"], region=vector["region"])

        assert kind_of(address) == vector["type"].lower().replace("fixed_line_or", "fixed_or")

    @pytest.mark.parametrize("code", sorted(EXAMPLES))
    def test_of_every_example_are_as_phonenumbers_says(self, code):
        for digits in EXAMPLES[code]:
            address = f"+{code}{digits}"
            assert (kind_of(address), country_of(address)) == told(address)

    @settings(max_examples=2000, deadline=None, database=None)
    @given(neighbours() | anywhere())
    @example("+330123456789")  # a national prefix that should not be there
    def test_of_any_number_are_as_phonenumbers_says(self, address):
        if (expected := told(address)) is not None:
            assert (kind_of(address), country_of(address)) == expected

    def test_of_examples_cover_every_kind_but_short_ones(self):
        found = {kind_of(f"+{code}{digits}") for code, numbers in EXAMPLES.items() for digits in numbers}

        assert found == set(Kind) - {Kind.SHORT}

    @pytest.mark.parametrize(
        ("region", "type_", "kind"),
        [
            ("DE", PhoneNumberType.MOBILE, Kind.MOBILE),
            ("DE", PhoneNumberType.FIXED_LINE, Kind.FIXED_LINE),
            ("US", PhoneNumberType.FIXED_LINE_OR_MOBILE, Kind.FIXED_OR_MOBILE),
            ("CA", PhoneNumberType.FIXED_LINE_OR_MOBILE, Kind.FIXED_OR_MOBILE),
            ("DE", PhoneNumberType.PREMIUM_RATE, Kind.PREMIUM),
            ("DE", PhoneNumberType.SHARED_COST, Kind.SHARED_COST),
            ("DE", PhoneNumberType.TOLL_FREE, Kind.TOLL_FREE),
            ("GB", PhoneNumberType.PERSONAL_NUMBER, Kind.PERSONAL),
            ("FR", PhoneNumberType.VOIP, Kind.VOIP),
            ("GB", PhoneNumberType.PAGER, Kind.UNKNOWN),
            ("KZ", PhoneNumberType.MOBILE, Kind.MOBILE),
        ],
    )
    def test_are_told_by_range(self, region, type_, kind):
        number = phonenumbers.example_number_for_type(region, type_)
        address = phonenumbers.format_number(number, PhoneNumberFormat.E164)

        assert (kind_of(address), country_of(address)) == (kind, region)

    def test_are_read_row_by_row_from_a_file_of_old_and_new_numbers(self):
        rows = (CASES / "num-renumbered-countries" / "rows.csv").read_text().splitlines()

        read: dict[str, str] = {}
        for row in csv.DictReader(rows):
            try:
                read[row["name"]] = kind_of(normalise(Channel.SMS, row["to"]))
            except InvalidAddress as error:
                read[row["name"]] = error.reason

        assert read == {
            "Rui": Kind.UNKNOWN,  # taken: no number is refused for a range that the metadata do not know
            "Awa": "no number of this length exists there",
            "Koffi": Kind.MOBILE,
            "Bia": Kind.MOBILE,
        }


class TestShort:
    @pytest.mark.parametrize(
        ("text", "region", "expected"),
        [
            ("110", "DE", True),
            (" 72345 ", "DE", True),  # possible by its length as a number in Germany, which nobody has
            ("72345", "US", True),
            ("911", "US", True),
            ("112", "FR", True),
            ("3949", "FR", True),
            ("0151 12345678", "DE", False),
            ("20123456", "DK", False),  # eight digits are a whole number there
            ("72345", None, False),
            ("+49110", "DE", False),
        ],
    )
    def test_numbers_are_told_from_national_ones(self, text, region, expected):
        assert is_short(text, region) is expected
