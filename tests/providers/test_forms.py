from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.forms import form

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(fields=st.dictionaries(texts, texts))
def test_writes_what_urlencode_writes(fields: dict[str, str]) -> None:
    assert form(fields) == urlencode(fields).encode()


def test_refuses_half_a_character() -> None:
    with pytest.raises(UnicodeEncodeError):
        form({"Body": "\ud83d"})
