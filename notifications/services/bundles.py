"""Bundles: messages that one call to their provider carries together, and what its answer says of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from notifications.accounts import ConnectedAccount
from notifications.services.calls import Planned
from providers.errors import OutcomeUnknown
from providers.messages import Ability, HttpRequest, HttpResponse, MailRequest
from providers.transport.base import Answer

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Bundle:
    """One or more messages for one account. `wave` is what they began with, for whoever asks."""

    planned: Sequence[Planned]
    wave: Any = None

    @property
    def account(self) -> ConnectedAccount:
        return self.planned[0].account

    @property
    def request(self) -> HttpRequest | MailRequest:
        """The call that sends all of them."""
        if len(self.planned) == 1:
            return self.planned[0].request
        return self.planned[0].account.provider.batch_request([planned.request for planned in self.planned])


def bundles(wave: Sequence[Planned], mark: Any = None) -> Iterator[Bundle]:
    """Put together what one call may carry: by account, in the limits of its provider."""
    by_account: dict[int, list[Planned]] = {}
    for planned in wave:
        by_account.setdefault(planned.account.id, []).append(planned)
    for together in by_account.values():
        if together[0].account.can(Ability.BATCH):
            yield from _cut(together, mark)
        else:
            yield from (Bundle([planned], mark) for planned in together)


def _cut(together: Sequence[Planned], mark: Any) -> Iterator[Bundle]:
    provider = together[0].account.provider
    bundle: list[Planned] = []
    size = 0
    for planned in together:
        length = len(planned.request.body)
        if bundle and (len(bundle) >= provider.batch_limit or size + length > provider.batch_bytes):
            yield Bundle(bundle, mark)
            bundle, size = [], 0
        bundle.append(planned)
        size += length
    yield Bundle(bundle, mark)


def each(answer: Answer) -> list[Answer]:
    """What an answer to a bundle says of each message; one that tells nothing of each makes all of them unclear."""
    planned = answer.key.planned
    if len(planned) == 1:
        return [Answer(planned[0], answer.result, answer.seconds)]
    if not isinstance(answer.result, HttpResponse):
        return [replace(answer, key=one) for one in planned]
    try:
        parts = planned[0].account.provider.batch_answers(answer.result, len(planned))
    except Exception as error:
        if not isinstance(error, OutcomeUnknown):
            log.exception("answer to a batch cannot be read", account=planned[0].account.slug)
        unclear = OutcomeUnknown("the answer does not tell of each message", http_status=answer.result.status)
        return [replace(answer, key=one, result=unclear) for one in planned]
    return [Answer(one, part, answer.seconds) for one, part in zip(planned, parts, strict=True)]
