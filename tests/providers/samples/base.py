"""What the samples of all providers are made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from providers.base import Provider
from providers.messages import (
    Ability,
    AttemptRef,
    Headers,
    HttpResponse,
    OutgoingMessage,
    SentMessage,
    WebhookRequest,
)

PAYLOADS = Path(__file__).parents[1] / "payloads"
CASES = Path(__file__).parents[2] / "cases"
ATTEMPT = AttemptRef("0197b0c2f0c17cc0a1b2c3d4e5f60718-1")
NOW = datetime(2027, 1, 15, 10, 0, tzinfo=UTC)


def _answered(id: str) -> dict[str, Any]:
    return {"sid": id, "MessageID": id, "id": id}


@dataclass(frozen=True)
class Sample:
    """`signed` makes a genuine webhook of a body; `statuses` and `fields` are words the vendor uses, for nonsense made of them."""

    provider: Provider
    message: OutgoingMessage
    signed: Callable[[bytes], WebhookRequest]
    secrets: tuple[str, ...]
    fields: tuple[str, ...]
    not_processed: frozenset[int] = frozenset()  # 5xx that the vendor documents as not processed
    answered: Callable[[str], dict[str, Any]] = _answered  # what the vendor answers to a send that it gave this id
    of_the_text: frozenset[str] = frozenset()  # fields of a send that follow from the text, e.g. its alphabet
    search_url: str = ""  # where searches go, if not where sends do
    proof_in_body: bool = False  # a webhook's proof is one of its fields, not a header
    proof_is_password: bool = False  # a webhook's proof is a password, which says nothing of its body
    id_header: str = ""  # where an answer to a send names the message, if not in its body
    reports_in_lists: bool = False  # a webhook is a list, of whose reports each is kept by itself
    is_http: bool = True  # False: it hands mails to a mail server
    is_keyed_by_message: bool = False  # all attempts share a key, and the last replaces the others
    has_vendor: bool = True  # False: who answers is its recipient, who need not say more than a status
    payloads: str = ""  # the folder of recorded answers, if not called like the provider
    vendor_url: str = ""  # where the account's vendor is, if the provider has several
    lacks: frozenset[str] = frozenset()  # fields of a Mail that it cannot carry, and refuses; a name it leaves out

    @property
    def name(self) -> str:
        return self.provider.name

    @property
    def folder(self) -> Path:
        return PAYLOADS / (self.payloads or self.name)

    def taken(self, id: str) -> HttpResponse:
        """What the vendor answers to a send that it gave this id."""
        return answer(202, **{self.id_header: id}) if self.id_header else answer(200, self.answered(id))

    @property
    def can_find(self) -> bool:
        return bool({Ability.FIND_BY_REFERENCE, Ability.FIND_BY_RECIPIENT} & self.provider.abilities)

    @property
    def sent(self) -> SentMessage:
        return SentMessage(self.message, ATTEMPT, NOW, deadline_seconds=10)


def no_webhook(body: bytes) -> WebhookRequest:
    raise NotImplementedError("it sends none")


def payload(name: str) -> bytes:
    return (PAYLOADS / name).read_bytes().strip()


def case(name: str) -> bytes:
    return (CASES / name).read_bytes()


def answer(status: int, body: bytes | str | dict[str, Any] = b"", **headers: str) -> HttpResponse:
    data = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
    return HttpResponse(status, Headers({name.replace("_", "-"): value for name, value in headers.items()}), data)


def http_file(name: str, read: Callable[[str], bytes] = case) -> HttpResponse:
    """Read an answer as it was on the wire."""
    head, _, body = read(name).replace(b"\r\n", b"\n").partition(b"\n\n")
    status, *lines = head.decode().split("\n")
    return HttpResponse(
        int(status.split()[1]), Headers(dict(line.split(": ", 1) for line in lines)), body.rstrip(b"\n")
    )
