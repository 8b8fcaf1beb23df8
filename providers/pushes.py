"""What all push services have in common: one device to a push, what its app finds in it, and how it is made to fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from wcwidth import iter_graphemes

from providers import reading
from providers.base import Provider
from providers.errors import InvalidRequest, UnsupportedFeature
from providers.messages import Ability, Account, Channel, OutgoingMessage, Push

RECEIPT = "receipt"  # the name under which an app finds what it sends back
TITLE_BYTES = 1000  # of a longer one the beginning is shown: it leaves room for the text and the app's data
LONGEST_SECONDS = 28 * 24 * 60 * 60  # that FCM and Web Push keep what a device cannot be given yet
ELLIPSIS = "…"


class PushProvider(Provider):
    """A push service. A second push of one message replaces the first on the device, which is as good as a key.

    The setting `app` tells several apps of one service apart: the account then reaches `fcm/shop:TOKEN` and no `fcm:TOKEN`.
    """

    channels = frozenset({Channel.PUSH})
    abilities = frozenset({Ability.KEYS})
    key_life_seconds = float(LONGEST_SECONDS)
    look_up_delay_seconds = 0.0
    has_doubts = True

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        if app := account.settings.get("app"):
            self.reach = f"{self.reach}/{app}"  # type: ignore[misc]  # one app each

    def device_of(self, message: OutgoingMessage) -> str:
        """The service's own name of the device. Raises UnsupportedFeature for what is no push."""
        if message.channel not in self.channels or message.subject or message.html:
            raise UnsupportedFeature(f"{self.name} sends pushes only")
        return message.to.partition(":")[2]


def data_of(push: Push, is_reserved: Callable[[str], bool]) -> dict[str, str]:
    """What the app finds: the client's data, and the receipt where we wait for it. Raises UnsupportedFeature."""
    data = {reading.clean(name): reading.clean(value) for name, value in push.data.items()}
    if any(name == RECEIPT or is_reserved(name) for name in data):
        raise UnsupportedFeature("the data uses a name that is reserved")
    return {**data, RECEIPT: push.receipt} if push.receipt else data


def fitted(
    message: OutgoingMessage, build: Callable[[str | None, str], Any], limit_bytes: int, *, copies: int = 1
) -> Any:
    """What `build` makes of title and text, with as much of them as `limit_bytes` of its JSON allow.

    `copies` is how often the text is in it. Raises InvalidRequest where there is no room for any text.
    """
    push = message.push or Push()
    title = shortened(reading.clean(push.title), TITLE_BYTES) if push.title else None
    room = (limit_bytes - len(as_json(build(title, "")))) // copies
    text = reading.clean(message.text)
    if room < min(size(text), size(ELLIPSIS)):
        raise InvalidRequest("the data leaves no room for the text")
    return build(title, shortened(text, room))


def shortened(text: str, limit_bytes: int) -> str:
    """As much of a text as fits into so many bytes of JSON, cut between what a reader takes for characters."""
    if size(text) <= limit_bytes:
        return text
    room = limit_bytes - size(ELLIPSIS)
    clusters = list(iter_graphemes(text[:limit_bytes]))
    fitting = sum(end <= room for end in accumulate(map(size, clusters)))
    return "".join(clusters[:fitting]).rstrip() + ELLIPSIS


def size(text: str) -> int:
    """How many bytes of JSON a text takes between its quotes."""
    return len(as_json(text)) - 2


def as_json(value: Any) -> bytes:
    """JSON as it travels: UTF-8 as it is, since a letter written as \\u0436 would take three times the room."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def time_to_live(message: OutgoingMessage) -> int:
    """For how many seconds the service is to keep a push."""
    return LONGEST_SECONDS if message.useful_seconds is None else min(message.useful_seconds, LONGEST_SECONDS)


def headers_without(headers: Mapping[str, str], name: str) -> tuple[dict[str, str], str | None]:
    """Headers without one that is for ourselves, and what that said."""
    rest = dict(headers)
    return rest, rest.pop(name, None)
