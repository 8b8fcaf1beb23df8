"""What people answer to an SMS: the words, however they are written, and what is none of them."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.sms.optout import EVERYWHERE, LANGUAGES, LONGEST, Intent, fold, read

WORDS = [
    (language, intent, word.strip())
    for language, table in [("en", EVERYWHERE), *LANGUAGES.items()]
    for intent, words in table.items()
    for word in words.split(",")
]


class TestRead:
    @pytest.mark.parametrize(("language", "intent", "word"), WORDS)
    def test_knows_each_word_in_its_language_and_in_all(self, language, intent, word):
        assert read(word, [language]) == intent
        assert read(word) == intent

    @pytest.mark.parametrize(
        "text",
        [
            "STOP",
            "stop",
            "Stop!",
            "STOP.",
            " stop \r\n",
            '"STOP"',
            "“Stop”",
            "'stop'",
            "«STOP»",
            "*STOP*",
            "(stop)",
            "¡STOP!",
            "stop…",
            "Ｓｔｏｐ",
            "\u200eSTOP\u200b",
            "\ufeffSTOP\u00a0",
            "STOP\ufe0f",
            "OPT-OUT",
            "Opt  out",
            "optout",
            "STOP ALL",
            "Stopall",
        ],
        ids=ascii,
    )
    def test_knows_stop_however_it_is_written(self, text):
        assert read(text) == Intent.STOP
        assert read(text, []) == Intent.STOP

    @pytest.mark.parametrize(
        ("text", "intent"),
        [
            ("ARRET", Intent.STOP),
            ("arrêt", Intent.STOP),
            ("arre\u0302t", Intent.STOP),
            ("Désabonner.", Intent.STOP),
            ("desabonner", Intent.STOP),
            ("İPTAL", Intent.STOP),
            ("IPTAL", Intent.STOP),
            ("ıptal", Intent.STOP),
            ("ÇIK", Intent.STOP),
            ("cik", Intent.STOP),
            ("rezygnuję", Intent.STOP),
            ("REZYGNUJE", Intent.STOP),
            ("COMEÇAR", Intent.START),
            ("BAŞLA", Intent.START),
            ("wznow", Intent.START),
            ("YARDIM", Intent.HELP),
            ("yardim", Intent.HELP),
            ("HJÆLP", Intent.HELP),
            ("hjaelp", Intent.HELP),
            ("¿AYUDA?", Intent.HELP),
        ],
    )
    def test_minds_neither_case_nor_accents(self, text, intent):
        assert read(text) == intent

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "   ",
            "...",
            "please stop",
            "stop please",
            "Stop by tomorrow",
            "Don't stop",
            "bus stop",
            "STOP 👍",
            "stopwatch",
            "s t o p",
            "STOP STOP",
            "STOP\nHELP",
            "non-stop",
            "help me please",
            "yes",
            "Ja",
            "no",
            "ok",
            "Fine.",
            "012345",
            "The end",
            "cancel my table",
            "x" * (LONGEST + 1),
            "stop" + " " * LONGEST,
            "\ud83d",
        ],
        ids=ascii,
    )
    def test_reads_nothing_into_anything_else(self, text):
        assert read(text) is None

    @pytest.mark.parametrize("languages", [["de"], ["de-AT"], ["DE_ch"], ["fr", "de"]])
    def test_knows_the_words_of_the_languages_asked_for(self, languages):
        assert read("abmelden", languages) == Intent.STOP
        assert read("koniec", languages) is None

    @pytest.mark.parametrize("languages", [[], ["xx"], ["tlh", ""]])
    def test_knows_the_words_for_everywhere_in_unknown_languages_too(self, languages):
        assert read("Unsubscribe", languages) == Intent.STOP
        assert read("abmelden", languages) is None

    def test_takes_extra_words(self):
        extra = {Intent.STOP: ["Schluss jetzt!", "Стоп"], Intent.HELP: {"Häh?"}}

        assert read("SCHLUSS JETZT", extra=extra) == Intent.STOP
        assert read("стоп", [], extra=extra) == Intent.STOP
        assert read("hah", extra=extra) == Intent.HELP
        assert read("schluss", extra=extra) is None

    def test_lets_extra_words_mean_something_else_than_ours(self):
        assert read("Cancel", extra={Intent.HELP: ["cancel"]}) == Intent.HELP

    @settings(max_examples=300, deadline=None, database=None)
    @given(st.text(max_size=LONGEST + 5))
    def test_answers_whatever_comes(self, text):
        assert read(text) in {None, *Intent}

    @settings(max_examples=300, deadline=None, database=None)
    @given(
        st.sampled_from(WORDS),
        st.sampled_from([str.upper, str.lower, str.title, str.swapcase]),
        st.text(" .!?\"'\n", max_size=3),
    )
    def test_minds_neither_case_nor_what_stands_around(self, word, write, around):
        _, intent, text = word

        assert read(around + write(text) + around) == intent


class TestWords:
    def test_mean_the_same_in_every_language(self):
        meanings: dict[str, set[Intent]] = {}
        for _, intent, word in WORDS:
            meanings.setdefault(fold(word), set()).add(intent)

        assert {word: intents for word, intents in meanings.items() if len(intents) > 1} == {}

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_are_there_for_each_intent(self, language):
        assert LANGUAGES[language].keys() == set(Intent)

    def test_are_short_enough_to_be_read(self):
        assert max(len(word) for _, _, word in WORDS) <= LONGEST

    def test_hold_what_the_law_of_the_united_states_names(self):
        named = ["stop", "quit", "end", "revoke", "opt out", "cancel", "unsubscribe"]

        assert {read(word, []) for word in chain(named, map(str.upper, named))} == {Intent.STOP}
