"""Any e-mail vendor that django-anymail speaks to by HTTP.

Library: https://anymail.dev/ (15.2, read 2026-11). It makes requests and reads answers and webhooks; here it sends nothing
and takes no settings from Django. Its signals, its batches and its retries are not used.
"""

from __future__ import annotations

from functools import cached_property

from providers import reading, retry_after
from providers.anymail.esps import ESPS, Esp
from providers.anymail.receiving import believe
from providers.anymail.sending import Speaker
from providers.base import Provider, error_for_status
from providers.errors import (
    AccountError,
    InsufficientBalance,
    InvalidRecipient,
    InvalidRequest,
    InvalidSignature,
    OutcomeUnknown,
    ProviderError,
    RecipientUnavailable,
    SenderNotAllowed,
    UnknownRefusal,
    UnsupportedFeature,
)
from providers.mails import ascii_domain, named
from providers.messages import (
    Ability,
    Account,
    AttemptRef,
    Channel,
    DeliveryEvent,
    HttpRequest,
    HttpResponse,
    OutgoingMessage,
    SendResult,
    WebhookRequest,
)

# Anymail's word for an answer -> our error. What is not here was taken.
REFUSED: dict[str, type[ProviderError]] = {
    "invalid": InvalidRecipient,
    "rejected": RecipientUnavailable,  # on their list, for what it did to an earlier mail
    "failed": UnknownRefusal,
}
BY_STATUS: dict[int, type[ProviderError]] = {402: InsufficientBalance, 413: InvalidRequest}
PROOFS = ("webhook_user", "webhook_password", "webhook_signing_key", "webhook_key", "signing_secret")


class Anymail(Provider):
    """Setting `esp` names the vendor: `brevo`, `mailersend`, `mailgun`, `mailjet`, `mailtrap`, `mandrill`, `postal`,
    `scaleway`, `sparkpost` or `unisender_go`. What Anymail calls that vendor's settings are in lower case and without its
    name: secrets (`api_key`, `secret_key`, `api_token`) are credentials, all else (`sender_domain`, `subaccount`,
    `region`, `project_id`) is in setting `options`. Reports are believed by `webhook_signing_key` (Mailgun),
    `signing_secret` (MailerSend, Mailtrap), `webhook_key` (Mandrill, Postal), else by `webhook_user` and
    `webhook_password` in the address. Scaleway reports nothing; Brevo alone keeps keys. `useful_seconds` has no counterpart.
    """

    name = "anymail"
    channels = frozenset({Channel.EMAIL})
    abilities = frozenset({Ability.RECEIPTS})
    credential_names = ()
    optional_credential_names = ("api_key", "secret_key", "api_token", *PROOFS)
    setting_names = ("esp", "from", "options")
    default_base_url = ""
    unverified = (
        "Brevo's `idempotencyKey`: that a mail with a key used in the last 15 minutes is dropped, and what the call is answered",
        "Mailgun signs a time and a token, not what the report says: who has seen one of its calls could make up others",
        "Which vendors replace `{{…}}` in a text by what they know: SparkPost does, Brevo and Unisender Go may",
        "MailerSend changes its webhooks in December 2026, which Anymail 15.2 cannot read",
        "Which refusals of a vendor are about the recipient: those with HTTP 400 or 422 are tried by another account",
    )

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        esp = ESPS.get(str(account.settings.get("esp")))
        if esp is not None and esp.key_header:
            self.abilities = self.abilities | {Ability.KEYS}
            self.key_life_seconds = esp.key_life_seconds
        if esp is not None and not esp.view:
            self.abilities = self.abilities - {Ability.RECEIPTS}

    def send_request(self, message: OutgoingMessage, attempt: AttemptRef) -> HttpRequest:
        if message.channel not in self.channels:
            raise UnsupportedFeature("Anymail sends e-mail only")
        return self._speaker.request(message, attempt, self._sender)

    def send_result(self, answer: HttpResponse) -> SendResult:
        if not 200 <= answer.status < 300:
            raise self._refusal(answer)
        status, message_id = self._speaker.status(answer)
        if status in REFUSED:
            raise REFUSED[status](f"Anymail: {status}", code=status, http_status=answer.status)
        if message_id is None:
            raise OutcomeUnknown("the answer names no message", http_status=answer.status)
        return SendResult(message_id, reading.word(status))

    def parse_webhook(self, request: WebhookRequest) -> list[DeliveryEvent]:
        """Check that the call is genuine, then translate it. Raises InvalidSignature, MalformedWebhook."""
        try:
            esp = self._esp
        except AccountError:
            raise InvalidSignature("setting esp names none that Anymail speaks to") from None
        return believe(esp, request, self.account.credentials, self.account.callback_url or request.url)

    @cached_property
    def _esp(self) -> Esp:
        """Raises AccountError."""
        try:
            return ESPS[str(self.account.settings.get("esp"))]
        except KeyError:
            raise AccountError(f"setting esp is one of {', '.join(ESPS)}") from None

    @cached_property
    def _speaker(self) -> Speaker:
        options = dict(self.account.settings.get("options") or {})
        keys = {name: value for name, value in self.account.credentials.items() if name not in PROOFS}
        own_address = {"api_url": self.base_url + "/"} if self.base_url else {}
        return Speaker(self._esp, {"generate_message_id": False, **options, **keys, **own_address})

    @cached_property
    def _sender(self) -> tuple[str, str]:
        name, address = named(str(self.account.settings.get("from") or ""))
        if not address:
            raise SenderNotAllowed("the account names no sender")
        return name, ascii_domain(address)

    def _refusal(self, answer: HttpResponse) -> ProviderError:
        fields = reading.json_object(answer.body) or {}
        code = reading.word(fields.get("code"), limit=50)
        listed = self._esp.refusals.get(code) if answer.status < 500 else None
        kind = listed or BY_STATUS.get(answer.status) or error_for_status(answer.status)
        return kind(
            f"HTTP {answer.status}",
            code=code if code in self._esp.refusals else "",  # else perhaps an address
            http_status=answer.status,
            retry_after_seconds=retry_after.from_headers(answer.headers),
        )
