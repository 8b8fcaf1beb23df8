"""Every way a provider can say no.

    ProviderError
    ├── TransientError       RateLimited, Unavailable, RecipientBusy, TokenRefused    certainly not accepted: try again later
    ├── OutcomeUnknown                                       perhaps accepted: a blind retry may send twice
    ├── AccountError         AuthenticationFailed, InsufficientBalance, SenderNotAllowed (SenderNotRegistered: there),
    │                        EndpointGone (AddressForbidden: we do not call it)
    ├── RecipientError       InvalidRecipient, RecipientOptedOut, RecipientUnavailable
    ├── ContentRejected · RouteRejected · InvalidRequest · UnknownRefusal
    └── InvalidSignature                                     a webhook we do not believe

Texts never carry an address or a body: they reach logs.
"""

from __future__ import annotations


class ProviderError(Exception):
    """A provider's no. `code` is its own code, `retry_after_seconds` its own wish, None when it has none."""

    def __init__(
        self,
        detail: str = "",
        *,
        code: str = "",
        http_status: int | None = None,
        retry_after_seconds: float | None = None,
        suppress: str | None = None,
        is_doubtful: bool = False,
        advice: str = "",
    ) -> None:
        super().__init__(detail or type(self).__name__)
        self.detail = detail
        self.code = code
        self.http_status = http_status
        self.retry_after_seconds = retry_after_seconds
        self.suppress = suppress  # reason, when it is certain that the address must not be used again
        self.is_doubtful = (
            is_doubtful  # … unless the account's own fault is answered alike: certain while it works for others
        )
        self.advice = advice  # what an operator should do about it at the provider, in a sentence


class TransientError(ProviderError):
    """Certainly not accepted; may work later."""


class RateLimited(TransientError):
    """Too many requests; costs no try."""


class Unavailable(TransientError):
    """The provider could not be reached, or says that it did not process the request."""


class RecipientBusy(TransientError):
    """The recipient's side says "later": a full mailbox, a stranger kept waiting. The provider does its work."""


class TokenRefused(TransientError):
    """The token we were given is not good, or no more: with another one it may work."""


class NotStarted(TransientError):
    """We did not even begin the call: it was too late for it, or we are shutting down."""


class OutcomeUnknown(ProviderError):
    """Bytes left this machine and no clear answer came back."""


class AccountError(ProviderError):
    """Ours to mend, not the recipient's fault."""


class AuthenticationFailed(AccountError):
    pass


class InsufficientBalance(AccountError):
    pass


class SenderNotAllowed(AccountError):
    pass


class SenderNotRegistered(SenderNotAllowed):
    """This sender in this country: not registered or approved there, or of a kind that is not taken there."""


class EndpointGone(AccountError):
    """The endpoint says that it is gone for good, or cannot be called as it is set up: it is switched off."""


class AddressForbidden(EndpointGone):
    """The endpoint's address leads where nobody outside may send us. Nothing was sent."""


class RecipientError(ProviderError):
    """This recipient, whoever sends."""


class InvalidRecipient(RecipientError):
    pass


class RecipientOptedOut(RecipientError):
    pass


class RecipientUnavailable(RecipientError):
    """Not reachable for good."""


class ContentRejected(ProviderError):
    """This text, whoever gets it."""


class RouteRejected(ProviderError):
    """This provider cannot reach this recipient; another may."""


class InvalidRequest(ProviderError):
    """A request that no provider should have been sent: our bug."""


class UnknownRefusal(ProviderError):
    """A definite refusal with a code that is not in the provider's table."""


class InvalidSignature(ProviderError):
    """The webhook's proof is missing or wrong."""


class MalformedWebhook(ProviderError):
    """Genuine, but not in the shape the provider documents; kept raw and counted."""


class UnsupportedFeature(ProviderError):
    """The message asks for something this provider cannot do."""
