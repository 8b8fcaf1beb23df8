"""What every provider owes us where it has to be proven who speaks: we to the vendor, and the vendor to us."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from providers.base import Provider
from providers.errors import InvalidSignature
from providers.messages import Ability, HttpRequest
from providers.registry import PROVIDERS
from tests.providers.samples import SAMPLES
from tests.providers.samples.base import ATTEMPT, NOW, Sample

SIGNING = [
    name
    for name in sorted(PROVIDERS)
    if Ability.RECEIPTS in PROVIDERS[name].abilities and PROVIDERS[name].signs_webhooks
]

every_provider = pytest.mark.parametrize("sample", [SAMPLES[name] for name in sorted(PROVIDERS)], ids=sorted(PROVIDERS))
every_signing_provider = pytest.mark.parametrize("sample", [SAMPLES[name] for name in SIGNING], ids=SIGNING)


def calls(provider: Provider, sample: Sample) -> Iterator[HttpRequest]:
    """All that an account asks, as it leaves; a mail is no call, and what carries a token proves less than what asks for it."""
    asked = [provider.send_request(sample.message, ATTEMPT)]
    if provider.wants_token:
        asked = [provider.token_request(NOW)]
    if Ability.STATUS in provider.abilities:
        asked.append(provider.status_request("id"))
    if sample.can_find:
        asked.append(provider.find_request(sample.sent))
    for request in asked:
        if isinstance(request, HttpRequest):
            yield provider.authorize(request, NOW)


@every_provider
def test_each_call_proves_by_a_header_who_calls(sample: Sample) -> None:
    account = sample.provider.account
    other = {name: f"{value[:-1]}x" for name, value in account.credentials.items()}
    stranger = type(sample.provider)(replace(account, credentials=other))

    for ours, theirs in zip(calls(sample.provider, sample), calls(stranger, sample), strict=True):
        if not sample.provider.wants_token:  # that is asked for with a proof in the body
            assert ours.headers != theirs.headers
        assert (ours.headers, ours.body) != (theirs.headers, theirs.body)


@every_signing_provider
class TestWebhook:
    def test_with_another_body_is_not_believed(self, sample: Sample) -> None:
        if sample.proof_is_password:
            return
        genuine = sample.signed(b'{"type":"x"}')

        with pytest.raises(InvalidSignature):
            sample.provider.parse_webhook(replace(genuine, body=genuine.body + b"x"))

    def test_is_not_believed_by_an_account_with_other_secrets(self, sample: Sample) -> None:
        account = sample.provider.account
        other = {name: value[::-1] for name, value in account.credentials.items()}
        stranger = type(sample.provider)(replace(account, credentials=other))

        with pytest.raises(InvalidSignature):
            stranger.parse_webhook(sample.signed(b'{"type":"x"}'))
