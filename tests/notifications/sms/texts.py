"""Texts to count and to cut: of the alphabet, beyond it, and of characters that hang together."""

from __future__ import annotations

from hypothesis import strategies as st

from notifications.sms.alphabet import DEFAULT, EXTENSION

CLUSTERS = {
    "skin tone": "👍🏽",
    "family": "👨‍👩‍👧‍👦",
    "flag": "🇩🇪",
    "keycap": "1️⃣",
    "accent apart": "e\u0301",
    "two accents": "a\u0323\u0302",
    "hangul": "\u1112\u1161\u11ab",
    "hindi": "क्षि",
    "variation": "❤️",
    "tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
}

characters = st.sampled_from(sorted(DEFAULT.values()))
extended = st.sampled_from(sorted(EXTENSION.values()))
clusters = st.sampled_from(sorted(CLUSTERS.values()))
anything = st.characters(exclude_categories=["Cs"])
runs = st.builds(lambda piece, count: piece * count, characters | extended, st.integers(1, 160))


def in_gsm7() -> st.SearchStrategy[str]:
    """Texts around the borders of one, two and three SMS, of the alphabet alone."""
    return st.lists(runs | characters | extended | st.just("\r\n"), max_size=12).map("".join)


def in_any() -> st.SearchStrategy[str]:
    """Texts with what else there is, that hangs together or not."""
    return st.lists(runs | clusters | anything | st.text(anything, max_size=70), max_size=12).map("".join)
