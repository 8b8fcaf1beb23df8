"""What leaves this process for people to read holds no address, no key, no password, and no row that a database quotes."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlsplit

from notifications.addresses import without_addresses
from notifications.lanes import Lane

SHORTEST_SECRET = 6  # characters; a shorter one occurs in innocent words
PUBLIC_CREDENTIALS = ("_sid", "_user")  # names of credentials that stand in addresses, or guard nothing

_API_KEY = re.compile(r"\b(lf_live_)[\w-]+")
_AUTHORIZATION = re.compile(r"\b(Bearer|Basic) +[\w.~+/=-]{6,}", re.IGNORECASE)
_ROW = re.compile(r"\b(DETAIL|CONTEXT):\s[^\n]*")  # PostgreSQL: "Failing row contains (…)", the message's text included
_LINK = re.compile(r"(/unsubscribe/)[\w-]{6,}")
_LOGIN = re.compile(r"(?<=://)[^\s/@]*@")
_IN_URL = re.compile(  # an address in a query, encoded once or several times
    r"%(?:25)*(?:2B|3D|20|3A|22|3F|26)(?:\d|[ ()/.+-]|%(?:25)*2[089BDF]){7,40}\d"
    r"|[\w.+%-]{1,100}%(?:25)*40[\w.%-]{1,100}",
    re.IGNORECASE,
)
_WORKER = re.compile(rf"\W*(?:{'|'.join(Lane.values)})@{re.escape(socket.gethostname())}\W*")  # looks like a mailbox


class Redactor:
    """Knows the secrets it was told and what looks like an address. A secret it was not told it cannot know."""

    def __init__(self) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._pattern = re.compile(r"(?!)")

    def learn(self, secrets: Iterable[str]) -> None:
        """Hide these from now on, as they are and as they stand in URLs."""
        spellings = {spelling for secret in secrets for spelling in (secret, quote(secret, safe=""))}
        known = self._secrets | {spelling for spelling in spellings if len(spelling) >= SHORTEST_SECRET}
        if known != self._secrets:
            longest_first = sorted(known, key=len, reverse=True)
            self._secrets, self._pattern = known, re.compile("|".join(map(re.escape, longest_first)))

    def learn_credentials(self, credentials: Any) -> None:
        """Hide what an account logs in with."""
        if isinstance(credentials, dict):
            self.learn(
                value
                for name, value in credentials.items()
                if isinstance(value, str) and not name.endswith(PUBLIC_CREDENTIALS)
            )

    def text(self, text: str) -> str:
        """A text as anybody may read it."""
        text = self._pattern.sub("…", text)
        text = _API_KEY.sub(r"\1…", text)
        text = _AUTHORIZATION.sub(r"\1 …", text)
        text = _ROW.sub(r"\1: …", text)
        text = _LINK.sub(r"\1…", text)
        text = _LOGIN.sub("", text)
        if "%" in text:
            text = _IN_URL.sub("…", text)
        return without_addresses(text, but=_WORKER)

    def value(self, value: Any, *, but: frozenset[str] = frozenset()) -> Any:
        """The same of every text in a value, whatever holds it; those under the keys in `but` stay as they are."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode(errors="replace"))
        if isinstance(value, dict):
            return {
                self.text(key) if isinstance(key, str) else key: item if key in but else self.value(item, but=but)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            items = [self.value(item, but=but) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        said = repr(value)
        shown = self.text(said)
        return value if shown == said else shown

    def error(self, error: BaseException) -> None:
        """Redact what an exception and those behind it say, in place: its class and its traceback stay."""
        seen: set[int] = set()
        behind: list[BaseException | None] = [error]
        while behind:
            one = behind.pop()
            if one is not None and id(one) not in seen:
                seen.add(id(one))
                one.args = tuple(self.value(argument) for argument in one.args)
                behind += [one.__cause__, one.__context__]


def passwords_in(urls: str) -> list[str]:
    """The passwords in one URL, or in several between semicolons."""
    return [password for url in urls.split(";") if "://" in url and (password := urlsplit(url).password)]


redactor = Redactor()
