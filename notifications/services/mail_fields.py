"""What an e-mail is made of, field by field."""

from __future__ import annotations

import base64
import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from notifications.addresses import InvalidAddress, normalise
from notifications.services.shape import OneLine, Strict, no
from providers.messages import Channel

SUBJECT_CHARACTERS = 200
HTML_BYTES = 500_000
NAME_CHARACTERS = 100  # of whom it is for
FILES = 10
FILES_BYTES = 700_000  # all of them; in base64 a third more, and a request has its limit too
FILE_NAME_CHARACTERS = 200
CONTENT_TYPE_CHARACTERS = 78


def _file_name(value: str) -> str:
    if not value.isprintable() or re.search(r"[/\\]", value) or value.strip(". ") == "":
        raise no("is no name of a file", "a name without a path, e.g. invoice.pdf")
    return value


def _content_type(value: str) -> str:
    if not re.fullmatch(r"(?!multipart/|message/)[a-z0-9.+-]+/[a-z0-9.+-]+", value.lower()):
        raise no("is no content type of a file", "type/subtype, e.g. application/pdf")
    return value


def _base64(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        raise no("is not base64", "the bytes of the file in base64, without line breaks") from None
    return value


def _decoded_bytes(content: str) -> int:
    return len(content) * 3 // 4 - content.count("=")


class Attachment(Strict):
    """A file, in base64. `content_id` where the HTML shows it as a picture: `<img src="cid:…">`."""

    name: Annotated[str, Field(min_length=1, max_length=FILE_NAME_CHARACTERS), AfterValidator(_file_name)]
    content_type: Annotated[str, Field(max_length=CONTENT_TYPE_CHARACTERS), AfterValidator(_content_type)]
    content: Annotated[
        str, Field(min_length=1, json_schema_extra={"contentEncoding": "base64"}), AfterValidator(_base64)
    ]
    content_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9.@_+-]{1,76}$")] | None = None


class Email(Strict):
    """At least one of `text` and `html`. `to_name` stands beside the address; `reply_to` is where answers go."""

    subject: Annotated[str, Field(min_length=1, max_length=SUBJECT_CHARACTERS), OneLine]
    text: str | None = None
    html: str | None = None
    to_name: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS), OneLine] | None = None
    reply_to: str | None = None
    attachments: Annotated[list[Attachment], Field(min_length=1, max_length=FILES)] | None = None

    @field_validator("reply_to")
    @classmethod
    def _can_be_answered(cls, value: str | None) -> str | None:
        """In ASCII: of what is beyond it, no program on the way need know how to write it."""
        if value is None:
            return None
        try:
            address = normalise(Channel.EMAIL, value)
        except InvalidAddress as error:
            raise no(error.reason, error.accepted) from None
        if not address.isascii():
            raise no("has letters beyond ASCII before the @", "one e-mail address in ASCII, e.g. help@example.org")
        return address

    @field_validator("attachments")
    @classmethod
    def _are_light(cls, value: list[Attachment] | None) -> list[Attachment] | None:
        if value and sum(_decoded_bytes(file.content) for file in value) > FILES_BYTES:
            raise no("are too large", f"at most {FILES_BYTES} bytes together")
        return value

    @model_validator(mode="after")
    def _has_a_body_within_the_limit(self) -> Self:
        if not self.text and not self.html:
            raise no("has no body", "`text`, `html` or both")
        for body in (self.text, self.html):
            if body and len(body.encode()) > HTML_BYTES:
                raise no("is too large", f"at most {HTML_BYTES} bytes each for `text` and `html`")
        return self
