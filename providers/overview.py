"""What every provider can do, as a page: made from what the adapters declare."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from providers.base import Provider
from providers.messages import Ability
from providers.registry import PROVIDERS

HEAD = """# Providers

Made by `python manage.py providers` from what the adapters declare. A provider becomes an account in the admin: its
credentials, settings and channels. Abilities say how an unclear call is settled: with *keys* the same call is made again
and the provider drops a second one, or shows it in the place of the first; else it is searched by our *reference*, or by *recipient* and time; where neither is
possible the client's `on_unclear` decides. Where statuses are *listed*, one call tells how far many messages have come.

| Provider | Channels | Unclear calls | Status | Receipts | Signed | Key life | Search lags | Batch |
|---|---|---|---|---|---|--:|--:|--:|
"""
SETTLED_BY = {
    Ability.KEYS: "keys",
    Ability.FIND_BY_REFERENCE: "reference",
    Ability.FIND_BY_RECIPIENT: "recipient",
}


def markdown() -> str:
    """The page: a table, and a section for each provider."""
    providers = [PROVIDERS[name] for name in sorted(PROVIDERS)]
    return HEAD + "\n".join(map(_row, providers)) + "\n" + "".join(map(_section, providers))


def _row(provider: type[Provider]) -> str:
    abilities = provider.abilities
    settled = [word for ability, word in SETTLED_BY.items() if ability in abilities]
    cells = [
        f"`{provider.name}`",
        ", ".join(sorted(provider.channels)),
        ", ".join(settled) or "by policy",
        "listed" if Ability.LIST_STATUSES in abilities else "yes" if Ability.STATUS in abilities else "–",
        "yes" if Ability.RECEIPTS in abilities else "–",
        "–" if Ability.RECEIPTS not in abilities else "yes" if provider.signs_webhooks else "no: each is asked about",
        f"{provider.key_life_seconds / 3600:g} h" if provider.key_life_seconds else "–",
        "–" if not settled or settled == ["keys"] else f"{provider.look_up_delay_seconds:g} s",
        str(provider.batch_limit) if Ability.BATCH in abilities else "–",
    ]
    return f"| {' | '.join(cells)} |"


def _section(provider: type[Provider]) -> str:
    return "\n" + "\n".join(_lines(provider)) + "\n"


def _lines(provider: type[Provider]) -> Iterator[str]:
    yield f"## `{provider.name}`"
    yield ""
    if said := inspect.cleandoc(provider.__dict__.get("__doc__") or ""):
        yield from (said, "")
    yield f"- Credentials: {_names(provider.credential_names)}; may hold {_names(provider.optional_credential_names)}"
    yield f"- Settings: {_names(provider.setting_names)}"
    yield f"- Refused webhooks are answered {provider.refused_webhook_status}"
    if provider.unverified:
        yield "- Nobody could check, without the vendor:"
        yield from (f"  - {sentence}" for sentence in provider.unverified)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
