from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import signatures


class TestUrlForms:
    @pytest.mark.parametrize(
        ("url", "others"),
        [
            ("https://a.example/w/?x=1", {"https://a.example:443/w/?x=1"}),
            ("https://a.example:443/w/", {"https://a.example/w/"}),
            ("http://a.example/w/", {"http://a.example:80/w/"}),
            ("http://a.example:8000/w/", {"http://a.example/w/"}),
            ("https://[::1]/w/", {"https://[::1]:443/w/"}),
            ("https://user:pass@a.example/w/", {"https://user:pass@a.example:443/w/"}),
            ("https://a.example/https://a.example/", {"https://a.example:443/https://a.example/"}),
            ("https://a.example:port/", set()),
            ("https://[broken/", set()),
        ],
    )
    def test_spells_a_url_with_and_without_its_port(self, url: str, others: set[str]) -> None:
        assert signatures.url_forms(url) == {url} | others

    @given(url=st.text())
    def test_never_raises(self, url: str) -> None:
        assert url in signatures.url_forms(url)


class TestForm:
    def test_keeps_empty_values_and_repeated_names(self) -> None:
        assert signatures.form_pairs(b"a=&b=1&b=1&c&=d&&e=f%3Dg+h%20i") == [
            (b"a", b""),
            (b"b", b"1"),
            (b"b", b"1"),
            (b"c", b""),
            (b"", b"d"),
            (b"e", b"f=g h i"),
        ]

    def test_reads_latin_1_where_it_is_not_utf_8(self) -> None:
        assert signatures.form_text(b"Gr\xc3\xbc\xc3\x9fe") == signatures.form_text(b"Gr\xfc\xdfe") == "Grüße"


class TestBasic:
    HEADER = "Basic cG0tdXNlcjpwbS1wYXNzLTlmMmM="  # pm-user:pm-pass-9f2c

    def test_right_user_and_password(self) -> None:
        assert signatures.is_basic(self.HEADER, "pm-user", "pm-pass-9f2c")
        assert signatures.is_basic(self.HEADER.replace("Basic", "basic"), "pm-user", "pm-pass-9f2c")

    @pytest.mark.parametrize(
        "header", ["", "Basic", "Basic ", "Basic Og==", "Bearer cG0tdXNlcjpwbS1wYXNzLTlmMmM=", "Basic ü"]
    )
    def test_wrong_header(self, header: str) -> None:
        assert not signatures.is_basic(header, "pm-user", "pm-pass-9f2c")
        assert not signatures.is_basic(header, "", "")

    def test_wrong_user_or_password(self) -> None:
        assert not signatures.is_basic(self.HEADER, "pm-user", "other")
        assert not signatures.is_basic(self.HEADER, "other", "pm-pass-9f2c")

    def test_password_with_a_colon_and_an_umlaut(self) -> None:
        assert signatures.is_basic("Basic dTpwOnfDvHN0", "u", "p:wüst")
