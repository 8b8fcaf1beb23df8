"""Log in: providers that want a token with each send are asked for one as for anything else, before the sends begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from notifications.accounts import Accounts, ConnectedAccount
from notifications.numbers import numbers
from notifications.outbox import Batch
from notifications.runtime import Runtime
from notifications.services import outcomes
from notifications.services.calls import Planned
from notifications.services.prepare import judge_error, situation_of
from notifications.sql.record import Verdict
from providers.errors import AccountError, ProviderError, TransientError, Unavailable
from providers.messages import Token
from providers.transport.base import Call
from providers.transport.inbox import send_many

log = structlog.get_logger(__name__)


def log_in(
    sends: Sequence[Planned], batch: Batch, *, accounts: Accounts, runtime: Runtime
) -> tuple[list[Planned], list[Verdict]]:
    """Give each send the token its provider wants. Returns what can be sent, and what becomes of the rest: no call was made."""
    ready, verdicts = [], []
    tokens: dict[int, Token | ProviderError] = {}
    for planned in sends:
        account = planned.account
        if not account.provider.wants_token:
            ready.append(planned)
            continue
        if (is_first := account.id not in tokens) is True:
            tokens[account.id] = _token(account, batch, accounts, runtime)
        token = tokens[account.id]
        if isinstance(token, ProviderError):
            verdicts.append(_refused(planned, token, batch, accounts, runtime, is_first=is_first))
        else:
            request = account.provider.with_token(planned.request, token)  # type: ignore[arg-type]  # no mails
            ready.append(replace(planned, request=request, token=token))
    return ready, verdicts


def _token(account: ConnectedAccount, batch: Batch, accounts: Accounts, runtime: Runtime) -> Token | ProviderError:
    """The account's token, asked for where there is none that lasts: once, however many want it."""
    credentials = account.provider.account.credentials
    with accounts.logins.lock:
        token = accounts.logins.token(account.id, credentials, runtime.monotonic())
        if token is None:
            try:
                token = _ask(account, batch, runtime)
            except ProviderError as error:
                return error
            accounts.logins.keep(account.id, credentials, token, runtime.monotonic())
        return token


def _ask(account: ConnectedAccount, batch: Batch, runtime: Runtime) -> Token:
    """Raises TransientError or AccountError: whatever went wrong, nothing was sent to anybody."""
    try:
        request = account.provider.token_request(batch.now())
        calls = [Call(account, request, numbers().critical_send_deadline_seconds)]
        [[answer]] = send_many(runtime.transport, calls, inbox=runtime.open_inbox())
        if isinstance(answer.result, ProviderError):
            raise answer.result
        return account.provider.token_result(answer.result)  # type: ignore[arg-type]  # no mail was sent
    except (TransientError, AccountError):
        raise
    except ProviderError as error:
        raise Unavailable(f"asking for a token: {error.detail}", http_status=error.http_status) from error
    except Exception as error:
        log.exception("a token cannot be asked for", account=account.slug)
        raise Unavailable("asking for a token") from error


def _refused(
    planned: Planned, error: ProviderError, batch: Batch, accounts: Accounts, runtime: Runtime, *, is_first: bool
) -> Verdict:
    """What becomes of a send without a token. The account is blamed once, not for each of them."""
    row, account, now = planned.row, planned.account, batch.now()
    situation = situation_of(row, account, accounts, runtime.random, now=now, began_at=now)
    verdict = judge_error(situation, error, accounts) if is_first else outcomes.lead_on(situation, error)
    if is_first and outcomes.lead_of(error).is_failure:
        accounts.note_failure(account, row.country)
    verdict.outcome = None
    return verdict
