"""The vendors' side of the contract as a local server: for demos, tests and drills, and nothing an adapter could notice."""

from providers.sandbox.accounts import Pace, SandboxAccount
from providers.sandbox.book import Message
from providers.sandbox.counts import AccountCounts, Counts, Duplicate
from providers.sandbox.faults import Faults, Refusal
from providers.sandbox.sandbox import Sandbox
from providers.sandbox.starters import STARTERS, Starter

__all__ = [
    "STARTERS",
    "AccountCounts",
    "Counts",
    "Duplicate",
    "Faults",
    "Message",
    "Pace",
    "Refusal",
    "Sandbox",
    "SandboxAccount",
    "Starter",
]
