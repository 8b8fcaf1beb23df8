"""Answers: what each call came to, judged and put on file, its account's health included."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog

from notifications.accounts import Accounts, ConnectedAccount
from notifications.addresses import redact_answer
from notifications.devices import spellings
from notifications.hints import Hints
from notifications.models import Outcome
from notifications.outbox import Batch
from notifications.runtime import Runtime
from notifications.services import outcomes, own_faults
from notifications.services.calls import Planned
from notifications.services.endpoint_health import health
from notifications.services.late import file_late
from notifications.services.prepare import judge_error, situation_of
from notifications.services.record import insist, record
from notifications.sql.apply import SuppressedAddress
from notifications.sql.record import Verdict
from providers.errors import NotStarted, OutcomeUnknown, ProviderError
from providers.messages import HttpResponse, MailResponse, SendResult
from providers.transport.base import Answer

log = structlog.get_logger(__name__)

ANSWER_KEPT_CHARACTERS = 2048


class Clerk:
    """Files the answers to calls of messages."""

    def __init__(self, accounts: Accounts, hints: Hints, runtime: Runtime) -> None:
        self.accounts = accounts
        self.hints = hints
        self.runtime = runtime

    def file(self, batch: Batch, answers: Sequence[Answer], began_at: datetime) -> None:
        """Record what became of messages that one begin began. The key of each answer is its planned call."""
        now = batch.now()
        judged = insist(lambda: [self._judge(answer, now, began_at) for answer in answers], self.runtime)
        verdicts = [verdict for verdict, _ in judged]
        held = record(
            verdicts,
            claim=batch.claim,
            notification_ids={answer.key.row.message_id: answer.key.row.notification_id for answer in answers},
            runtime=self.runtime,
            suppress=[address for _, addresses in judged for address in addresses],
        )
        fenced = {verdict.message_id: verdict for verdict in verdicts if verdict.message_id not in held}
        if fenced:
            late = [
                (answer.key, fenced[answer.key.row.message_id])
                for answer in answers
                if answer.key.row.message_id in fenced
            ]
            file_late(late, began_at, hints=self.hints, runtime=self.runtime)

    def _judge(self, answer: Answer, now: datetime, began_at: datetime) -> tuple[Verdict, list[SuppressedAddress]]:
        row, account = answer.key.row, answer.key.account
        situation = situation_of(row, account, self.accounts, self.runtime.random, now=now, began_at=began_at)
        try:
            if isinstance(answer.result, ProviderError):
                raise answer.result
            verdict = outcomes.taken(situation, _read(account, answer.result))
            self.accounts.note_answer(account, row.country, is_yes=True)
            health.note(account, works=True)
            suppressed = own_faults.after_yes(answer.key, self.accounts, self.runtime.monotonic())
        except ProviderError as told:
            error, suppressed = own_faults.weigh(answer.key, told, self.accounts, self.runtime.monotonic())
            verdict = judge_error(situation, error, self.accounts)
            self._note_error(account, row.country, error)
        _keep_answer(verdict, answer)
        return verdict, suppressed

    def _note_error(self, account: ConnectedAccount, country: str, error: ProviderError) -> None:
        if not isinstance(error, NotStarted):
            health.note(account, works=False)
        is_failure = outcomes.lead_of(error).is_failure
        if is_failure:
            self.accounts.note_failure(account, country)
        elif is_failure is False:
            self.accounts.note_answer(account, country, is_yes=False)


def _read(account: ConnectedAccount, answer: HttpResponse | MailResponse) -> SendResult:
    """What the provider says. Raises ProviderError; an answer that its adapter stumbles over proves nothing."""
    try:
        return account.provider.send_result(answer)
    except ProviderError:
        raise
    except Exception:
        log.exception("answer cannot be read", account=account.slug)
        raise OutcomeUnknown("the answer cannot be read", http_status=answer.status) from None


def _keep_answer(verdict: Verdict, answer: Answer) -> None:
    """File the beginning of the provider's answer, without the address and the text. All that a yes says is filed already."""
    if isinstance(answer.result, ProviderError):
        return
    verdict.http_status = answer.result.status
    if verdict.outcome is not Outcome.TAKEN:
        verdict.answer = redact_answer(answer.result.body, *_private(answer.key))[:ANSWER_KEPT_CHARACTERS]


def _private(planned: Planned) -> list[str]:
    row = planned.row
    content = row.content[row.channel]
    texts = [content[name] for name in ("text", "subject", "title", "to_name") if content.get(name)]
    return [*spellings(row.channel, row.address), *texts]
