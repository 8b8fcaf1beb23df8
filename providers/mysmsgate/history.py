"""Looking for a message in MySMSGate's history, by its recipient and time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from providers import reading
from providers.messages import SentMessage
from providers.mysmsgate.words import id_of

EARLY_SECONDS = 2  # their clock against ours
LATE_SECONDS = 60  # records appear some seconds after the call


def may_be(record: Mapping[str, Any], sent: SentMessage) -> bool:
    """Say whether a record could be of this message: what it does not tell speaks for it."""
    created_at, number = _created_at(record), _digits(record.get("phone_to"))
    earliest, latest = _window(sent)
    return (
        id_of(record) not in sent.owned_ids
        and number in ("", _digits(sent.message.to))
        and (created_at is None or earliest <= created_at <= latest)
    )


def is_it(record: Mapping[str, Any], sent: SentMessage) -> bool:
    """Say whether a record that may be of this message tells all there is to tell, and was sent by API."""
    is_ours = reading.word(record.get("source")).lower() in ("", "api")  # else typed on the phone
    is_complete = _digits(record.get("phone_to")) and _created_at(record) is not None and id_of(record) is not None
    return is_ours and bool(is_complete)


def reaches_back(records: Sequence[Mapping[str, Any]], sent: SentMessage) -> bool:
    """Say whether the records go from now back to before the call, so that it would be among them."""
    times = [created_at for record in records if (created_at := _created_at(record)) is not None]
    is_newest_first = bool(times) and times[0] == max(times)
    return is_newest_first and min(times) < _window(sent)[0]


def _window(sent: SentMessage) -> tuple[datetime, datetime]:
    """Say between which times they can have made the record."""
    return (
        sent.began_at - timedelta(seconds=EARLY_SECONDS),
        sent.began_at + timedelta(seconds=sent.deadline_seconds + LATE_SECONDS),
    )


def _created_at(record: Mapping[str, Any]) -> datetime | None:
    return reading.iso_time(record.get("created_at"))


def _digits(number: object) -> str:
    return re.sub("[^0-9]", "", reading.word(number))
