"""Check a row as strictly as a request of its own, and write its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from pydantic import Field, ValidationError

from notifications.addresses import InvalidAddress, normalise
from notifications.ids import new_id
from notifications.lanes import Lane
from notifications.models import Client
from notifications.numbers import BODY_BYTES
from notifications.rendering import CannotRender, Template
from notifications.services.batch.fields import Templates, variables_of
from notifications.services.batch.rows import Row
from notifications.services.mail_fields import HTML_BYTES
from notifications.services.request import (
    KEY_CHARACTERS,
    Content,
    FieldError,
    Refused,
    field_errors,
    unstorable,
)
from notifications.services.shape import OneLine, Strict
from notifications.services.sms_hourly import sms_to
from notifications.services.sms_terms import number_errors, policy_of, sms_text
from notifications.services.steps import first_messages
from notifications.services.terms import missing_content
from notifications.sql.accept import NewMessage
from providers.messages import Channel


class _Written(Strict):
    """What the validator of single requests has to say to a row."""

    content: Content
    reference: Annotated[str, Field(max_length=KEY_CHARACTERS), OneLine]


@dataclass(frozen=True, slots=True)
class Checked:
    """A row that will be a notification."""

    id: UUID
    recipient: dict[str, str]
    content: dict[str, Any]
    reference: str
    messages: list[NewMessage]


class Check:
    """The rows of one batch, checked one by one.

    `sms` is how many SMS those that passed may come to, by country; counted for a client with hourly limits only.
    """

    def __init__(self, templates: Templates, steps: Sequence[dict[str, Any]], lane: Lane, client: Client) -> None:
        self.variables = variables_of(templates)
        self._steps = steps
        self._lane = lane
        self._templates = templates
        self._client = client
        self._policy = policy_of(client)
        self.sms: Counter[str] = Counter()
        self._channel_faults = cache(lambda channels: missing_content(steps, channels, templates.keys()))

    def __call__(self, row: Row) -> Checked:
        """What a request of its own would store. Raises Refused with its faults."""
        faults = row.faults or [*self._unreadable(row)]
        if faults:
            raise Refused(faults)
        recipient = self._recipient(row)
        content = self._content(row, recipient)
        try:
            _Written.model_validate({"content": content, "reference": row.reference})
        except ValidationError as error:
            raise Refused(field_errors(error)) from None
        id = new_id()
        messages = first_messages(id, self._steps, recipient, lane=self._lane)
        if self._client.sms_hourly:
            self.sms.update(sms_to(self._steps, recipient))
        return Checked(id, recipient, content, row.reference, messages)

    def _unreadable(self, row: Row) -> Iterator[FieldError]:
        texts = "".join((*row.to.values(), *row.variables.values(), row.reference))
        if "\0" in texts or not _is_utf8(texts):
            yield from unstorable({"to": row.to, "variables": row.variables, "reference": row.reference})
        for name in sorted(self.variables):
            if not row.variables.get(name):
                yield FieldError(f"variables.{name}", "is missing", "a value that is not empty")

    def _recipient(self, row: Row) -> dict[str, str]:
        recipient, faults = {}, []
        for channel, text in row.to.items():
            try:
                recipient[channel] = normalise(Channel(channel), text, region=settings.DEFAULT_REGION)
            except InvalidAddress as error:
                faults.append(FieldError(f"to.{channel}", error.reason, error.accepted))
        faults = faults or [
            *self._channel_faults(frozenset(recipient)),
            *number_errors(self._steps, recipient, self._policy),
        ]
        if faults:
            raise Refused(faults)
        return recipient

    def _content(self, row: Row, recipient: dict[str, str]) -> dict[str, Any]:
        content = {
            channel: {
                name: _render(template, row.variables, f"content.{channel}.{name}") for name, template in fields.items()
            }
            for channel, fields in self._templates.items()
            if channel in recipient
        }
        if Channel.SMS in content:
            content[Channel.SMS]["text"] = sms_text(content[Channel.SMS]["text"], self._client)
        return content


def _render(template: Template, values: dict[str, str], field: str) -> str:
    try:
        return template.render(values, limit=BODY_BYTES)
    except CannotRender as error:
        raise Refused([FieldError(field, str(error), f"at most {HTML_BYTES} bytes")]) from None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
