"""Anymail's backend at work without a network: our message to its payload, a vendor's answer to its status."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from io import BytesIO
from typing import Any

import requests
from anymail.exceptions import (
    AnymailConfigurationError,
    AnymailError,
    AnymailInvalidAddress,
    AnymailUnsupportedFeature,
)
from django.core.mail import EmailMultiAlternatives
from django.utils.module_loading import import_string

from providers import reading
from providers.anymail.esps import Esp
from providers.errors import (
    AccountError,
    InvalidRecipient,
    InvalidRequest,
    OutcomeUnknown,
    ProviderError,
    RouteRejected,
    UnsupportedFeature,
)
from providers.mails import ascii_domain, file_part, one_line, quoted, unsubscribe_headers
from providers.messages import AttemptRef, HttpRequest, HttpResponse, Mail, OutgoingMessage

BOUNDARY = "boundary="
ERRORS: dict[type[AnymailError], type[ProviderError]] = {
    AnymailUnsupportedFeature: UnsupportedFeature,
    AnymailInvalidAddress: InvalidRecipient,
}


class Speaker:
    """One vendor's backend for one account. Its settings are given; none come from Django's."""

    def __init__(self, esp: Esp, settings: Mapping[str, Any]) -> None:
        self._esp = esp
        self._settings = settings

    def request(self, message: OutgoingMessage, attempt: AttemptRef, sender: tuple[str, str]) -> HttpRequest:
        """Describe the call that sends: the same each time. Raises ProviderError."""
        try:
            mail = self._mail(message, attempt, sender)
            params = self._backend.build_message_payload(mail, {}).get_request_params(self._backend.api_url)
        except AnymailConfigurationError:
            raise AccountError("credentials or options lack what Anymail needs for this vendor") from None
        except AnymailError as error:
            kind = next((ERRORS[known] for known in type(error).__mro__ if known in ERRORS), InvalidRequest)
            raise kind(f"Anymail: {type(error).__name__}") from None  # its text may hold an address
        return _written(requests.Request(**params).prepare(), attempt.id)

    def status(self, answer: HttpResponse) -> tuple[str, str | None]:
        """Read an answer: Anymail's word for it, and the vendor's id. Raises OutcomeUnknown for one that it cannot read."""
        response = requests.Response()
        response.status_code = answer.status
        response.headers.update(answer.headers)
        response.raw = BytesIO(answer.body)
        response.encoding = "utf-8"
        try:
            told = self._backend.parse_recipient_status(response, self._any_payload, self._any_mail)
            first = next(iter(told.values()))
        except Exception:  # whatever a body makes somebody else's code stumble over
            raise OutcomeUnknown("the answer names no message", http_status=answer.status) from None
        return str(first.status), reading.identifier(first.message_id)

    @cached_property
    def _backend(self) -> Any:
        return import_string(self._esp.backend)(**self._settings)

    @cached_property
    def _any_mail(self) -> Any:
        """Anymail asks to whom a mail went whose answer it reads. To one, and who that is does not matter."""
        return EmailMultiAlternatives("-", "-", "sender@example.invalid", ["recipient@example.invalid"])

    @cached_property
    def _any_payload(self) -> Any:
        return self._backend.build_message_payload(self._any_mail, {})

    def _mail(self, message: OutgoingMessage, attempt: AttemptRef, sender: tuple[str, str]) -> Any:
        recipient = ascii_domain(message.to)
        if not recipient.isascii():
            raise RouteRejected("letters beyond ASCII before the @ are taken by no vendor alike")
        extra = message.mail or Mail()
        mail: Any = EmailMultiAlternatives(
            subject=one_line(message.subject or ""),
            body=reading.clean(message.text),
            from_email=quoted(*sender),
            to=[quoted(extra.to_name, recipient)],
            reply_to=[ascii_domain(extra.reply_to)] if extra.reply_to else None,
            headers=self._headers(extra, attempt),
        )
        if message.html is not None:
            mail.attach_alternative(reading.clean(message.html), "text/html")
        for attachment in extra.attachments:
            mail.attach(file_part(attachment))
        if self._esp.carries_metadata:
            mail.metadata = {"attempt": attempt.id}
        else:
            mail.tags = [attempt.id]
        return mail

    def _headers(self, extra: Mail, attempt: AttemptRef) -> dict[str, str]:
        headers = unsubscribe_headers(extra.unsubscribe_url)
        if self._esp.carries_headers:
            headers["X-Attempt-Id"] = attempt.id
        if self._esp.key_header and attempt.key is not None:
            headers[self._esp.key_header] = attempt.key
        return headers


def _written(prepared: requests.PreparedRequest, seed: str) -> HttpRequest:
    """What would leave, with the boundary between files, which is drawn by chance, replaced by one that follows from `seed`."""
    headers = {name: str(value) for name, value in prepared.headers.items() if name != "Content-Length"}
    body = prepared.body or b""
    content = body.encode() if isinstance(body, str) else bytes(body)
    kind, found, drawn = headers.get("Content-Type", "").partition(BOUNDARY)
    if found:
        ours = hashlib.sha256(seed.encode()).hexdigest()[: len(drawn)]
        headers["Content-Type"] = f"{kind}{BOUNDARY}{ours}"
        content = content.replace(drawn.encode(), ours.encode())
    return HttpRequest(str(prepared.method), str(prepared.url), headers, content)
