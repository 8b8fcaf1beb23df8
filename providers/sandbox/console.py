"""The sandbox's own addresses, under /_sandbox: books, faults, reset. For drills and for looking."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from providers.sandbox.wire import Reply, Request, json_reply

if TYPE_CHECKING:
    from providers.sandbox.sandbox import Sandbox

PREFIX = "/_sandbox"
FAULTS = re.compile(r"/accounts/([^/]+)/faults")
MESSAGE_LIMIT = 1000
RECEIVER = ("secret", "role")  # what can be set of one


def handle(sandbox: Sandbox, request: Request) -> Reply:
    """GET accounts, counts, messages?account=&to=&limit=, accounts/<slug>/faults, hooks?path=;
    POST accounts/<slug>/faults, hooks, reset."""
    path = request.path.removeprefix(PREFIX)
    found = FAULTS.fullmatch(path)
    try:
        match request.method:
            case "GET" if path == "/accounts":
                return json_reply(200, sandbox.accounts())
            case "GET" if path == "/counts":
                return json_reply(200, asdict(sandbox.counts()))
            case "GET" if path == "/messages":
                return _messages(sandbox, request)
            case "GET" if found is not None:
                return json_reply(200, sandbox.faults(found[1]).as_json())
            case "POST" if found is not None:
                return _set_faults(sandbox, found[1], request)
            case "GET" if path == "/hooks":
                return json_reply(200, sandbox.receivers.as_json(request.parameters.get("path")))
            case "POST" if path == "/hooks":
                return _set_receiver(sandbox, request)
            case "POST" if path == "/reset":
                sandbox.reset()
                return json_reply(200, {})
    except KeyError as unknown:
        return json_reply(404, {"error": f"there is no account {unknown}"})
    except ValueError as wrong:
        return json_reply(400, {"error": str(wrong)})
    return json_reply(404, {"error": f"{request.method} {request.path} is not one of the sandbox's own addresses"})


def _messages(sandbox: Sandbox, request: Request) -> Reply:
    asked = request.parameters
    taken = sandbox.messages(account=asked.get("account"), to=asked.get("to"))
    limit = int(asked.get("limit", MESSAGE_LIMIT))
    newest = taken[max(len(taken) - limit, 0) :]
    return json_reply(200, {"total": len(taken), "messages": [message.as_json(slug) for slug, message in newest]})


def _set_faults(sandbox: Sandbox, slug: str, request: Request) -> Reply:
    changes = json.loads(request.body or b"{}")
    if not isinstance(changes, dict):
        raise ValueError('send a JSON object, e.g. {"outage": "status_503"}')
    return json_reply(200, sandbox.set_faults(slug, **changes).as_json())


def _set_receiver(sandbox: Sandbox, request: Request) -> Reply:
    changes = json.loads(request.body or b"{}")
    if not isinstance(changes, dict) or not all(isinstance(changes.get(name, ""), str) for name in ("path", *RECEIVER)):
        raise ValueError('send a JSON object, e.g. {"path": "/hooks/ok", "secret": "whsec_…", "role": "fail"}')
    sandbox.receivers.set(changes.get("path", ""), **{name: changes.get(name) for name in RECEIVER})
    return json_reply(200, {})
