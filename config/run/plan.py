"""What is to be started, and with which environment."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from config.launcher import BROUGHT
from config.processes import ROOT, manage
from config.run import procfile
from config.run.places import SANDBOX, Place, read_places
from notifications.models import ProviderAccount
from providers.messages import Channel

FLOWER_USER = "flower"
KEYS_FOR_GOOD = ("CREDENTIAL_KEYS", "ADDRESS_KEY")


@dataclass(frozen=True)
class Plan:
    """Commands by name, their environment, and where parts that listen do so if they are started."""

    commands: Mapping[str, Sequence[str]]
    environment: Mapping[str, str]
    places: Mapping[str, Place]
    new_flower_login: str  # user:password, or nothing where the environment has one

    @property
    def listening(self) -> dict[str, Place]:
        """The places of what is started."""
        return {part: place for part, place in self.places.items() if part in self.commands}


def make_plan(environment: Mapping[str, str]) -> Plan:
    """Plan for everything in the Procfile. Raises BadProcfile, InvalidEnvironment, OSError."""
    commands = {name: procfile.in_shell(line) for name, line in procfile.read(ROOT / "Procfile").items()}
    places = {place.part: place for place in read_places()}
    new_login = "" if environment.get("FLOWER_BASIC_AUTH") else f"{FLOWER_USER}:{secrets.token_urlsafe(12)}"
    return Plan(commands, _environment(environment, places["web"].url, new_login), places, new_login)


def with_sandbox(plan: Plan) -> Plan:
    """The plan and, where nothing can be sent without it, the sandbox: there is no provider account, or one it plays."""
    place = plan.places[SANDBOX]
    base_urls = ProviderAccount.objects.exclude(channels=[Channel.WEBHOOK]).values_list("base_url", flat=True)
    if base_urls and not any(base_url.startswith(f"{place.url}/") for base_url in base_urls):
        return plan
    return replace(plan, commands={**plan.commands, SANDBOX: manage(SANDBOX, "--port", str(place.port))})


def is_database_kept(environment: Mapping[str, str]) -> bool:
    """Whether the database outlives us: the launcher did not bring it."""
    return "DATABASE_URL" not in _brought(environment)


def lost_keys(environment: Mapping[str, str]) -> list[str]:
    """The keys that a kept database needs for good, and that were made for this once."""
    return [name for name in KEYS_FOR_GOOD if is_database_kept(environment) and name in _brought(environment)]


def _environment(environment: Mapping[str, str], web_url: str, new_flower_login: str) -> dict[str, str]:
    programs = str(Path(sys.executable).parent)  # of this very environment, gunicorn and celery among them
    completed = {
        **environment,
        "PATH": os.pathsep.join([programs, environment.get("PATH", os.defpath)]),
        "PYTHONUNBUFFERED": "1",  # or lines wait for others in the pipe
    }
    if new_flower_login:
        completed["FLOWER_BASIC_AUTH"] = new_flower_login
    completed.setdefault("PUBLIC_URL", web_url)
    completed.setdefault("LOG_LEVEL", "WARNING")  # hints come by the second
    return completed


def _brought(environment: Mapping[str, str]) -> list[str]:
    return environment.get(BROUGHT, "").split()
