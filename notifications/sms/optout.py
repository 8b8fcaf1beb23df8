"""What people answer to an SMS to be left alone, to be written to again, or to be helped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from functools import cache
from unicodedata import category, normalize


class Intent(StrEnum):
    STOP = "stop"
    START = "start"
    HELP = "help"


LONGEST = 40  # characters of an answer that may be one of the words

Words = Mapping[Intent, str]  # words and phrases, separated by commas

# Known wherever a text comes from: what carriers and the law ask for in any language. 47 CFR 64.1200(a)(10) names stop,
# quit, end, revoke, opt out, cancel and unsubscribe. YES is left out: it answers some other question as often as not.
EVERYWHERE: Words = {
    Intent.STOP: "stop, stopall, stop all, end, quit, cancel, unsubscribe, revoke, opt out, optout",
    Intent.START: "start, unstop, opt in, optin",
    Intent.HELP: "help, info",
}

LANGUAGES: Mapping[str, Words] = {
    "en": {
        Intent.STOP: "remove, remove me, unsub, stop it",
        Intent.START: "subscribe, resubscribe, resume",
        Intent.HELP: "support",
    },
    "de": {
        Intent.STOP: "stopp, stoppen, halt, ende, beenden, abmelden, abbestellen, austragen, widerruf, widerrufen",
        Intent.START: "starten, anmelden",
        Intent.HELP: "hilfe",
    },
    "fr": {
        Intent.STOP: "arrêt, arrêter, arrêtez, stopper, fin, désabonner, désabonnement, désinscrire, désinscription",
        Intent.START: "commencer, démarrer, abonner, réabonner",
        Intent.HELP: "aide",
    },
    "es": {
        Intent.STOP: "alto, parar, pare, baja, dar de baja, darme de baja, cancelar, detener, fin",
        Intent.START: "alta, iniciar, empezar, comenzar, reanudar",
        Intent.HELP: "ayuda",
    },
    "pt": {
        Intent.STOP: "parar, pare, sair, cancelar, remover, descadastrar, fim",
        Intent.START: "iniciar, começar, recomeçar, retomar",
        Intent.HELP: "ajuda",
    },
    "it": {
        Intent.STOP: "ferma, fermare, basta, annulla, cancella, cancellami, disiscrivi, disiscrivimi",
        Intent.START: "inizia, iniziare, iscrivi, iscrivimi",
        Intent.HELP: "aiuto",
    },
    "nl": {
        Intent.STOP: "stoppen, afmelden, uitschrijven, opzeggen, annuleren, einde",
        Intent.START: "starten, aanmelden, inschrijven",
        Intent.HELP: "hulp",
    },
    "pl": {
        Intent.STOP: "koniec, rezygnuję, rezygnacja, wypisz, wypisz mnie, anuluj, zatrzymaj",
        Intent.START: "zacznij, zapisz, zapisz mnie, wznów",
        Intent.HELP: "pomoc",
    },
    "tr": {
        Intent.STOP: "dur, durdur, iptal, ret, çık, çıkış, abonelikten çık",
        Intent.START: "başla, başlat, onay",  # RET and ONAY are the words of the İleti Yönetim Sistemi
        Intent.HELP: "yardım",
    },
    "sv": {Intent.STOP: "stopp, stoppa, sluta, avsluta, avregistrera", Intent.START: "starta", Intent.HELP: "hjälp"},
    "da": {Intent.STOP: "afmeld, frameld, stop det", Intent.START: "tilmeld", Intent.HELP: "hjælp"},
    "nb": {Intent.STOP: "stopp, avslutt, meld av", Intent.START: "meld på", Intent.HELP: "hjelp"},
}

_SEPARATORS = {"P", "Z", "C"}  # categories: punctuation, spaces, controls
_UNSEEN = {"Mn", "Me", "Cf"}  # accents, variation selectors, marks of writing direction
_LETTERS = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "æ": "ae", "`": " ", "´": " "})  # what does not decompose


def read(
    text: str,
    languages: Iterable[str] | None = None,
    *,
    extra: Mapping[Intent, Collection[str]] | None = None,
) -> Intent | None:
    """Say what an answer asks for, or None where it is anything else than one of the words.

    It must be the word and nothing more, in any case, with or without accents, and between any punctuation: "Stop!" is
    one, "please stop" and "stop by tomorrow" are none. `languages` are BCP 47 tags such as `pt-BR`, of which the first
    part counts; None means all. `extra` words go before ours.
    """
    if len(text) > LONGEST or not (word := fold(text)):
        return None
    return _extra(word, extra or {}) or _known(_ours(languages)).get(word)


def fold(text: str) -> str:
    """Write a text without case, accents, invisible characters and punctuation, with one space between its words."""
    letters = normalize("NFKD", text).casefold().translate(_LETTERS)
    kept = (_kept(character) for character in normalize("NFKD", letters))
    return " ".join("".join(kept).split())


def _kept(character: str) -> str:
    kind = category(character)
    if kind in _UNSEEN:
        return ""
    return " " if kind[0] in _SEPARATORS else character


def _extra(word: str, extra: Mapping[Intent, Collection[str]]) -> Intent | None:
    return next((intent for intent, words in extra.items() if word in map(fold, words)), None)


def _ours(languages: Iterable[str] | None) -> frozenset[str]:
    if languages is None:
        return frozenset(LANGUAGES)
    return frozenset(LANGUAGES).intersection(tag.replace("_", "-").partition("-")[0].lower() for tag in languages)


@cache
def _known(languages: frozenset[str]) -> Mapping[str, Intent]:
    tables = [EVERYWHERE, *(words for language, words in LANGUAGES.items() if language in languages)]
    return {fold(word): intent for table in tables for intent, words in table.items() for word in words.split(",")}
