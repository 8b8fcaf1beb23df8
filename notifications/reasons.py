"""Why a message is in its state, in one word each: stored with it, and said to people in a sentence."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    NO_ADDRESS = "no_address"
    NO_ACCOUNT = "no_account"
    STOPPED = "stopped"
    INCIDENT_OVER = "incident_over"
    DELIVERED_BY_ANOTHER_STEP = "delivered_by_another_step"
    TOO_LATE = "too_late"
    WINDOW_OVER = "window_over"
    ADDRESS_SUPPRESSED = "address_suppressed"
    OPTED_OUT = "opted_out"
    WAITING_TO_RETRY = "waiting_to_retry"
    TRIES_USED_UP = "tries_used_up"
    OUTCOME_UNKNOWN = "outcome_unknown"
    NOT_THERE = "not_there"
    SEND_AGAIN = "send_again"
    SAME_KEY = "same_key"
    NOT_SENT_AGAIN = "not_sent_again"
    HELD = "held"
    NOTHING_PROVES_IT = "nothing_proves_it"
    NO_PROOF_IN_TIME = "no_proof_in_time"
    KILLS_ITS_WORKER = "kills_its_worker"
    CANNOT_BE_RENDERED = "cannot_be_rendered"
    RECIPIENT_REFUSED = "recipient_refused"
    CONTENT_REJECTED = "content_rejected"
    ROUTE_REJECTED = "route_rejected"
    ACCOUNT_AT_FAULT = "account_at_fault"
    INVALID_REQUEST = "invalid_request"
    NOT_CARRIED = "not_carried"
    NOT_REACHED = "not_reached"
    EXPIRED_AT_PROVIDER = "expired_at_provider"
    NOT_DELIVERED = "not_delivered"
    BOUNCED = "bounced"
    REPLAYED = "replayed"
    ENDPOINT_OFF = "endpoint_off"


SENTENCES = {
    Reason.NO_ADDRESS: "the recipient has no address for this channel",
    Reason.NO_ACCOUNT: "no provider account for this channel can send now",
    Reason.STOPPED: "it was cancelled",
    Reason.INCIDENT_OVER: "its incident ended",
    Reason.DELIVERED_BY_ANOTHER_STEP: "another message of the same notification was delivered first",
    Reason.TOO_LATE: "it was no longer useful",
    Reason.WINDOW_OVER: "its time ran out and the next step began",
    Reason.ADDRESS_SUPPRESSED: "the address is suppressed",
    Reason.OPTED_OUT: "the recipient opted out",
    Reason.WAITING_TO_RETRY: "it could not be sent yet and will be tried again",
    Reason.TRIES_USED_UP: "every try failed",
    Reason.OUTCOME_UNKNOWN: "the provider gave no clear answer and is being asked",
    Reason.NOT_THERE: "the provider does not have it",
    Reason.SEND_AGAIN: "nobody can say whether it went out, so it is sent again",
    Reason.SAME_KEY: "nobody can say whether it went out, and the provider drops a second one with the same key",
    Reason.NOT_SENT_AGAIN: "nobody can say whether it went out, and it is not wanted any more",
    Reason.HELD: "nobody can say whether it went out, so it is held",
    Reason.NOTHING_PROVES_IT: "the provider took it and reports nothing more",
    Reason.NO_PROOF_IN_TIME: "no proof of delivery came in time",
    Reason.KILLS_ITS_WORKER: "workers died handling it",
    Reason.CANNOT_BE_RENDERED: "it cannot be turned into a request",
    Reason.RECIPIENT_REFUSED: "the provider cannot send to this address",
    Reason.CONTENT_REJECTED: "the provider refused the content",
    Reason.ROUTE_REJECTED: "the provider cannot reach this recipient",
    Reason.ACCOUNT_AT_FAULT: "the provider account needs mending",
    Reason.INVALID_REQUEST: "the provider called the request invalid",
    Reason.NOT_CARRIED: "the provider cannot carry all that it is made of",
    Reason.NOT_REACHED: "the recipient could not be reached",
    Reason.EXPIRED_AT_PROVIDER: "the provider gave up trying",
    Reason.NOT_DELIVERED: "the provider could not deliver it",
    Reason.BOUNCED: "the mailbox rejected it",
    Reason.REPLAYED: "an operator sent it again",
    Reason.ENDPOINT_OFF: "its endpoint is switched off, and it waits for that to change",
}
