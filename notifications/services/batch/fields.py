"""What a batch says once for all its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StrictBool

from notifications.inlining import inlined
from notifications.lanes import Priority
from notifications.rendering import CannotRender, Template
from notifications.services.batch.faults import BadFile
from notifications.services.batch.jsonl_rows import load
from notifications.services.batch.lines import Lines
from notifications.services.mail_fields import HTML_BYTES
from notifications.services.request import KEY_CHARACTERS, Content, FieldError, Refused, Terms, fingerprint, read_as
from providers.messages import Channel

Templates = dict[str, dict[str, Template]]  # by channel and field

CHANNELS = {Channel.SMS.value, Channel.EMAIL.value}  # what a row's text can be

FIRST_LINE = '`{"batch": {…}}`, unless the batch\'s fields are given beside the file'


class BatchFields(Terms):
    """The fields of a batch by their shape. `content` has `{variables}`; `reference` is the batch's own, not its rows'."""

    content: Content
    priority: Priority = Priority.BULK
    skip_bad_rows: StrictBool = False
    idempotency_key: Annotated[str, Field(min_length=1, max_length=KEY_CHARACTERS)] | None = None

    def fingerprint(self, digest: str, file_format: str) -> str:
        """Equal for the same fields and a file with the same bytes."""
        fields = self.model_dump(mode="json", exclude={"idempotency_key"})
        return fingerprint({"fields": fields, "file": digest, "format": file_format})


def read_fields(fields: Mapping[str, Any]) -> BatchFields:
    """Validate a batch's fields. Raises Refused with every fault."""
    return read_as(BatchFields, fields)


def first_line(lines: Lines) -> dict[str, Any]:
    """The batch's fields from the first line of its file. Raises BadFile."""
    try:
        value = load(next(lines, ""))
    except ValueError:
        value = None
    if lines.take_faults() or not isinstance(value, dict) or value.keys() != {"batch"}:
        raise BadFile(1, "does not say what to send", FIRST_LINE)
    if not isinstance(value["batch"], dict):
        raise BadFile(1, "is not an object", FIRST_LINE, field="batch")
    return dict(value["batch"])


def templates_of(content: Content) -> Templates:
    """The texts, ready to be filled in. Raises Refused for one written for another template engine, or another channel; and for files."""
    texts = content.model_dump(exclude_none=True)
    if others := sorted(texts.keys() - CHANNELS):
        raise Refused(
            [FieldError(f"content.{other}", "cannot be sent from a file", "sms, email or both") for other in others]
        )
    if content.email and content.email.attachments:
        raise Refused([FieldError("content.email.attachments", "cannot go to many", "a link to the file in the text")])
    return {
        channel: {name: _template(channel, name, text) for name, text in fields.items()}
        for channel, fields in texts.items()
    }


def _template(channel: str, name: str, text: str) -> Template:
    try:
        return _html(text) if name == "html" else Template(text)
    except CannotRender as error:
        accepted = "a variable as {name}, and nothing else in braces"
        raise Refused([FieldError(f"content.{channel}.{name}", str(error), accepted)]) from None


def _html(text: str) -> Template:
    """Styled once for all rows, before any value is in it; as it is where a variable would be lost on the way."""
    template = Template(text, is_html=True)
    try:
        styled = Template(inlined(text, limit=HTML_BYTES), is_html=True)
    except CannotRender:
        return template
    return styled if styled.variables == template.variables else template


def variables_of(templates: Templates) -> frozenset[str]:
    """The names of all variables, in lower case."""
    return frozenset().union(*(t.variables for fields in templates.values() for t in fields.values()))
