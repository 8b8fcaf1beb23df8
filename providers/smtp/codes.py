"""What a mail server's no means: its reply code (RFC 5321), its enhanced code (RFC 3463), and when it was said.

What a server says may be its own fault, ours or the recipient's: only codes about nothing but the mailbox suppress an address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from providers.errors import (
    AuthenticationFailed,
    ContentRejected,
    InvalidRecipient,
    InvalidRequest,
    ProviderError,
    RateLimited,
    RecipientBusy,
    RecipientUnavailable,
    RouteRejected,
    SenderNotAllowed,
    Unavailable,
    UnknownRefusal,
)
from providers.messages import MailStep

GREYLISTED_SECONDS = 300.0  # sooner is too soon for most who say "later" to strangers


@dataclass(frozen=True, slots=True)
class Meaning:
    error: type[ProviderError]
    suppress: str | None = None


GONE = "hard_bounce"
POLICY = Meaning(RouteRejected)  # of the recipient's side, or the relay's: another account may be let in

# 5.x.y -> our error, whoever said it when.
ENHANCED: dict[str, Meaning] = {
    "1.1": Meaning(InvalidRecipient, GONE),  # no such mailbox
    "1.2": Meaning(InvalidRecipient),  # no such domain; a server whose DNS fails says it of all
    "1.3": Meaning(InvalidRecipient),
    "1.6": Meaning(InvalidRecipient, GONE),  # moved, and left no address
    "1.10": Meaning(InvalidRecipient, GONE),  # the domain says that it takes no mail (RFC 7505)
    "1.7": Meaning(SenderNotAllowed),
    "1.8": Meaning(SenderNotAllowed),
    "2.1": Meaning(RecipientUnavailable, GONE),  # disabled
    "2.2": Meaning(RecipientUnavailable),  # full: not for ever
    "2.3": Meaning(InvalidRequest),  # too long for this mailbox
    "3.4": Meaning(InvalidRequest),  # too big for the server
    "6.7": POLICY,  # letters beyond ASCII in the address, and somebody on the way who cannot
    "7.0": POLICY,
    "7.1": POLICY,
    "7.8": Meaning(AuthenticationFailed),
    "7.9": Meaning(AuthenticationFailed),
    "7.11": Meaning(AuthenticationFailed),
    "7.13": Meaning(AuthenticationFailed),
    # What the sender's domain publishes, or the address we call from: SPF, DKIM, reverse DNS, DMARC (RFC 7372, 7489).
    **dict.fromkeys(("7.20", "7.21", "7.22", "7.23", "7.24", "7.25", "7.26", "7.27"), Meaning(SenderNotAllowed)),
}
# By the middle number, where the whole is not listed.
SUBJECTS: dict[str, Meaning] = {
    "1": Meaning(RouteRejected),
    "2": Meaning(RecipientUnavailable),
    "4": Meaning(RouteRejected),
    "5": Meaning(InvalidRequest),
    "6": Meaning(ContentRejected),
    "7": POLICY,
}
# Without an enhanced code: by reply code and step; what is not here, by step alone.
PLAIN: dict[tuple[int, MailStep], Meaning] = {
    (550, MailStep.RECIPIENT): POLICY,  # or no such user: UNKNOWN_USER
    (551, MailStep.RECIPIENT): POLICY,
    (552, MailStep.SENDER): Meaning(InvalidRequest),  # larger than it takes
    (552, MailStep.RECIPIENT): Meaning(RecipientUnavailable),  # full
    (553, MailStep.RECIPIENT): Meaning(InvalidRecipient),
    (554, MailStep.RECIPIENT): POLICY,
}
AT: dict[MailStep, Meaning] = {
    MailStep.GREETING: Meaning(SenderNotAllowed),  # the address we call from
    MailStep.SECURITY: Meaning(SenderNotAllowed),
    MailStep.LOGIN: Meaning(AuthenticationFailed),
    MailStep.SENDER: Meaning(SenderNotAllowed),
    MailStep.RECIPIENT: Meaning(UnknownRefusal),
    MailStep.DATA: Meaning(UnknownRefusal),
    MailStep.END: Meaning(ContentRejected),
}
SIGN_IN_FIRST = {530, 534, 535, 538}
WRONG_WORDS = {500, 501, 502, 503, 504, 555}
OURS = {MailStep.GREETING, MailStep.SECURITY, MailStep.LOGIN, MailStep.SENDER}  # said before the recipient is known
# 550 alone says "no" for any reason. The one place where a text decides, and then the address is not suppressed.
UNKNOWN_USER = re.compile(
    r"(user|recipient|mailbox|address|account)\b.{0,40}(unknown|not found|does(n't| not) exist|invalid)"
    r"|(unknown|no such|invalid) (local )?(user|recipient|mailbox|address|account)",
    re.IGNORECASE | re.DOTALL,
)

_ENHANCED = re.compile(r"[245]\.([0-9]{1,3})\.([0-9]{1,3})(?![0-9.])")


def enhanced_code(text: str) -> str:
    """The code a text begins with, e.g. "5.1.1"; "" if with none."""
    found = _ENHANCED.match(text)
    return found[0] if found else ""


def meaning(status: int, step: MailStep, text: str) -> Meaning:
    """What a no means. `status` is 400 to 599."""
    _, _, detail = enhanced_code(text).partition(".")
    if status < 500:
        return Meaning(_for_now(status, step, detail))
    if status in SIGN_IN_FIRST:
        return Meaning(AuthenticationFailed)
    if step in OURS:
        # Of the codes only those about us, or about the mail, can be meant.
        listed = ENHANCED.get(detail) or PLAIN.get((status, step))
        fits = listed is not None and listed.error in (AuthenticationFailed, InvalidRequest)
        return listed if listed is not None and fits else AT[step]
    if detail:
        return ENHANCED.get(detail) or SUBJECTS.get(detail.partition(".")[0]) or AT[step]
    if status in WRONG_WORDS:
        return Meaning(InvalidRequest)
    if status == 550 and UNKNOWN_USER.search(text):
        return Meaning(InvalidRecipient)
    return PLAIN.get((status, step)) or AT[step]


def _for_now(status: int, step: MailStep, detail: str) -> type[ProviderError]:
    if status == 421 or step in OURS:
        return RateLimited if detail.startswith("7.") and step is not MailStep.LOGIN else Unavailable
    is_recipients = step is MailStep.RECIPIENT or detail.partition(".")[0] in ("1", "2")
    # 4.3 and 4.4 are the server's own trouble, or the way's.
    return RecipientBusy if is_recipients and detail.partition(".")[0] not in ("3", "4") else Unavailable
