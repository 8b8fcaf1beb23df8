"""What Vonage's two SMS APIs share: Basic auth, numbers without a plus, and the Reports API, where messages are looked up.

API reference, read 2026-11: https://developer.vonage.com/en/api/reports; shapes from Nexmo/api-specification (July 2021).
Reports are a product of their own: an account without it is answered 403 and learns nothing. They are searched by time,
and a record is known by its `client_ref`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from providers import reading
from providers.callback_urls import query_of
from providers.messages import (
    Account,
    AttemptRef,
    CannotTell,
    HttpRequest,
    HttpResponse,
    NextPage,
    NotThere,
    SentMessage,
)

REPORTS_URL = "https://api.nexmo.com"
REPORTS_DELAY_SECONDS = 60.0  # how far reports are behind
LONGEST_WINDOW_SECONDS = 24 * 60 * 60
EARLY_SECONDS = 2  # their clock, in whole seconds, against ours
LATE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Record:
    """What a report says of one message, or of one part of one. `raw` holds neither text nor addresses."""

    id: str
    reference: str
    to: str
    status: str
    error_code: str
    finalized_at: datetime | None
    raw: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """Records, in no documented order. `is_whole`: there are no others that fit the question, on this page or the next."""

    records: tuple[Record, ...]
    is_whole: bool
    next_link: str | None


class Reports:
    """The questions that can be asked about one account. `product` is SMS or MESSAGES."""

    def __init__(self, account: Account, product: str) -> None:
        host = account.settings.get("reports_url") or account.base_url or REPORTS_URL
        self._url = f"{str(host).rstrip('/')}/v2/reports/records"
        self._account = account
        self._product = product

    def of_ids(self, ids: str) -> HttpRequest:
        """Ask for messages by their ids, joined by commas."""
        return self._get(urlencode({**self._fixed, "id": ids}))

    def of_call(self, sent: SentMessage, page: str | None) -> HttpRequest:
        """Ask for all that they took in the time of a call."""
        if page is not None:  # of their link only the query counts: a host in it is never called
            return self._get(quote(query_of(page), safe="%&=+", errors="replace"))
        start, end = _window(sent)
        longest = start + timedelta(seconds=LONGEST_WINDOW_SECONDS)
        return self._get(
            urlencode({**self._fixed, "date_start": _utc(start), "date_end": _utc(min(end, longest))}, safe=":")
        )

    @property
    def _fixed(self) -> dict[str, str]:
        account_id = self._account.credentials["api_key"]
        return {"account_id": account_id, "product": self._product, "direction": "outbound"}

    def _get(self, query: str) -> HttpRequest:
        headers = {"Authorization": basic(self._account.credentials), "Accept": "application/json"}
        return HttpRequest("GET", f"{self._url}?{query}", headers)


def basic(credentials: Mapping[str, str]) -> str:
    pair = f"{credentials['api_key']}:{credentials['api_secret']}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def without_plus(number: str) -> str:
    """Write a number as they want it. A sender's name stays as it is."""
    return number.removeprefix("+")


def with_plus(number: object) -> str:
    """Write a number of theirs as E.164. Names and short codes stay as they are."""
    text = reading.word(number)
    return f"+{text}" if re.fullmatch("[1-9][0-9]{6,14}", text) else text


def read_page(answer: HttpResponse) -> Page | None:
    """Read a report; None for an answer that is none."""
    report = reading.json_object(answer.body) if answer.status == 200 else None
    items = report.get("records") if report else None
    if report is None or not isinstance(items, list):
        return None
    records = tuple(record for item in items if (record := _record(item)))
    count = report.get("items_count", len(items))
    is_whole = reading.word(report.get("request_status")).upper() == "SUCCESS" and count == len(records) == len(items)
    link = _next_link(report)
    return Page(records, is_whole and link is None, link)


def search(
    answer: HttpResponse, sent: SentMessage, attempt_in: Callable[[str], str]
) -> tuple[Record, ...] | CannotTell | NextPage | NotThere:
    """Pick the records of the one attempt that is looked for. `attempt_in` reads our attempt id in a reference."""
    page = read_page(answer)
    if page is None:
        return CannotTell(f"no records in the answer (HTTP {answer.status})")
    free = [record for record in page.records if not _is_owned(record, sent)]
    own = tuple(record for record in free if _is_sought(attempt_in(record.reference), sent))
    if own:
        one = len({attempt_in(record.reference) for record in own}) == 1
        return own if one else CannotTell("several attempts are on record")
    if any(not record.reference and record.to == without_plus(sent.message.to) for record in free):
        return CannotTell("a record that could be this one has lost its reference")
    if page.next_link is not None:
        return NextPage(page.next_link)
    start, end = _window(sent)
    if not page.is_whole or (end - start).total_seconds() > LONGEST_WINDOW_SECONDS:
        return CannotTell("the report does not show all that was taken in the time of the call")
    return NotThere()


def _record(item: Any) -> Record | None:
    if not isinstance(item, dict) or (message_id := reading.identifier(item.get("message_id"))) is None:
        return None
    known = ("message_id", "client_ref", "status", "error_code", "date_received", "date_finalized")
    return Record(
        id=message_id,
        reference=reading.identifier(item.get("client_ref")) or "",
        to=without_plus(reading.word(item.get("to"))),
        status=reading.word(item.get("status")),
        error_code=reading.word(item.get("error_code"), limit=50),
        finalized_at=reading.iso_time(item.get("date_finalized")),
        raw=json.dumps({name: item[name] for name in known if name in item}).encode(),
    )


def _next_link(report: Mapping[str, Any]) -> str | None:
    links = report.get("_links")
    following = links.get("next") if isinstance(links, dict) else None
    link = following.get("href") if isinstance(following, dict) else None
    return link if isinstance(link, str) and link else None


def _is_owned(record: Record, sent: SentMessage) -> bool:
    return any(record.id in owned.split(",") for owned in sent.owned_ids)


def _is_sought(attempt: str, sent: SentMessage) -> bool:
    if sent.any_attempt:
        return AttemptRef(attempt).message == sent.attempt.message
    return attempt == sent.attempt.id


def _window(sent: SentMessage) -> tuple[datetime, datetime]:
    """Say between which times they can have taken it."""
    return (
        sent.began_at - timedelta(seconds=EARLY_SECONDS),
        sent.began_at + timedelta(seconds=sent.deadline_seconds + LATE_SECONDS),
    )


def _utc(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
