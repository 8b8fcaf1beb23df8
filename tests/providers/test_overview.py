from __future__ import annotations

from pathlib import Path

import pytest

from providers.overview import markdown
from providers.registry import PROVIDERS

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == markdown(), "run: python manage.py providers > docs/providers.md"


@pytest.mark.parametrize("name", PROVIDERS)
def test_it_tells_of_every_provider_what_an_account_needs(name: str) -> None:
    _, _, section = markdown().partition(f"## `{name}`\n")

    for credential in PROVIDERS[name].credential_names:
        assert f"`{credential}`" in section.split("\n## ")[0]
