"""The provider that the document walks through is one: it does what the contract demands."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from providers import errors
from providers.base import Provider
from providers.messages import EventKind
from tests.providers import test_contract as contract
from tests.providers.samples import base
from tests.providers.samples.base import ATTEMPT, Sample, answer

DOCUMENT = Path(__file__).parent.parent / "docs" / "adding-a-provider.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# What needs no place in the registry, and no more than a sample.
CHECKS = {
    f"{group.__name__}.{name}": getattr(group(), name)
    for group in (contract.TestDeclarations, contract.TestSendRequest, contract.TestSendResult, contract.TestWebhooks)
    for name, check in vars(group).items()
    if name.startswith("test_") and list(inspect.signature(check).parameters) == ["self", "sample"]
    if name != "test_is_found_by_its_name"
}


def block(language: str, containing: str) -> str:
    """The one block of a language that contains a text."""
    (found,) = [text for kind, text in BLOCK.findall(DOCUMENT.read_text()) if kind == language and containing in text]
    return found


def module(name: str, containing: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A block as the module it would be."""
    made = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)
    exec(compile(block("python", containing), DOCUMENT.name, "exec"), made.__dict__)
    return made


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sample:
    """The sample of the document, with the recorded answers of the document."""
    module("providers.pigeon", "class Pigeon", monkeypatch)
    folder = tmp_path / "pigeon"
    folder.mkdir()
    (folder / "send_response_201.json").write_text(block("json", '"parts"'))
    (folder / "webhook-delivered.json").write_text(block("json", '"landed"'))
    monkeypatch.setattr(base, "PAYLOADS", tmp_path)
    made = module("tests.providers.samples.pigeon", "SAMPLE =", monkeypatch).SAMPLE
    assert isinstance(made.provider, Provider)
    return made


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_keeps_the_contract(sample: Sample, check: Callable[..., None]) -> None:
    check(sample=sample)


def test_tells_a_fault_of_the_sender_from_one_of_the_recipient(sample: Sample) -> None:
    with pytest.raises(errors.SenderNotRegistered) as sender:
        sample.provider.send_result(answer(403, {"code": 31}))
    with pytest.raises(errors.InvalidRecipient) as recipient:
        sample.provider.send_result(answer(422, {"code": 12}))

    assert (sender.value.advice, sender.value.suppress) == (sample.provider.sender_faults["31"], None)
    assert (recipient.value.advice, recipient.value.suppress) == ("", "invalid")


def test_reads_the_report_of_the_document(sample: Sample) -> None:
    [event] = sample.provider.parse_webhook(sample.signed(block("json", '"landed"').encode()))

    assert (event.kind, event.attempt, event.provider_message_id) == (EventKind.DELIVERED, ATTEMPT.id, "bird-7")


def test_the_contract_is_tried_in_earnest() -> None:
    assert len(CHECKS) >= 15
