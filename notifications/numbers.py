"""The engine's times, sizes and counts: every default in one place, each overridable by an environment variable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from django.conf import settings

from notifications.lanes import URGENT, Lane

HOUR = 3600.0
DAY = 24 * HOUR

BODY_BYTES = 1024 * 1024  # of one request, by whatever way it comes in


@dataclass(frozen=True)
class Numbers:
    """Times in seconds unless their names say days. `LEASE_SECONDS=20` in the environment overrides `lease_seconds`, and so on."""

    lease_seconds: float = 60.0  # how long a claim is ours
    send_deadline_seconds: float = 10.0  # one call to a provider, name look-up to last byte
    critical_send_deadline_seconds: float = 5.0
    margin_seconds: float = 10.0  # lease left over when a call hits its deadline
    late_start_seconds: float = 1.0  # no call starts later than this after its begin
    send_concurrency: int = 16  # calls at once in a drain
    batch_size: int = 500  # entries in one claim under load
    wave_size: int = 200  # entries in one begin, at most
    flush_seconds: float = 0.1  # answers are recorded at least this often
    flush_count: int = 200
    put_off_seconds: float = 1.0  # until what found too many before it at its account is looked at again, on average
    longest_put_off_seconds: float = 30.0  # the same, at most, where many more wait for it
    drain_seconds: float = 15.0  # then a drain hints again and returns
    database_retry_seconds: float = 0.5  # between tries to record while the database is away

    tries: int = 8  # calls that may fail before a message is given up
    critical_retry_seconds: float = 600.0  # all tries fall within
    high_retry_seconds: float = 900.0
    normal_retry_seconds: float = 1800.0
    bulk_retry_seconds: float = 6 * HOUR
    critical_expiry_seconds: float = 900.0  # how long a notification is useful unless it says so itself
    high_expiry_seconds: float = 2 * HOUR
    normal_expiry_seconds: float = DAY
    bulk_expiry_seconds: float = 3 * DAY

    event_expiry_seconds: float = 30 * DAY  # how long an event waits for its endpoint, while that is switched off

    endpoint_off_seconds: float = HOUR  # how often an event looks whether its endpoint is on again
    endpoint_secret_overlap_seconds: float = DAY  # for so long the secret before signs beside a new one
    endpoints_of_a_client: int = 20
    endpoint_warn_seconds: float = DAY  # an endpoint that has failed for so long has its owner told,
    endpoint_fail_seconds: float = 5 * DAY  # and after so long is switched off

    soft_bounces: int = 5  # so many e-mails in a row that an address did not take for a passing reason,
    soft_bounce_days: float = 30.0  # within so many days, and nothing is sent there
    soft_bounce_rest_days: float = 90.0  # for so long

    receipt_deadline_seconds: float = 3 * DAY  # then a message that was sent ends unconfirmed
    look_up_again_seconds: float = 60.0  # between the two clear "not there" that allow a re-send
    check_pace: float = 1.0  # multiplies every wait between status checks
    list_checks_from: int = 10  # status questions to one account from which on its provider's list is read instead
    list_pages: int = 5  # of such a list, at most
    failures_in_a_row: int = 5  # calls that a provider failed in one process before the account rests in that country
    failing_share: float = 0.5  # of its calls within `failing_seconds` that it failed, and it rests as well,
    failing_calls: int = 20  # if there were so many
    failing_seconds: float = 60.0
    trouble_seconds: float = 60.0  # for so long; then it is tried with one message at a time
    places_seconds: float = 5.0  # how far ahead places under a rate go to bulk; to urgent lanes farther
    place_early_seconds: float = 0.05  # before its turn a message may go
    place_late_seconds: float = 0.5  # after its turn, at least; after that its place is lost
    turn_poll_seconds: float = 0.1  # between claims of a drain that waits for a turn
    doubt_seconds: float = 600.0  # how shortly before and after a doubtful refusal others must have taken something
    doubts_in_a_row: int = 5  # addresses that refuse in a row until the account is at fault, and none of them
    account_open_seconds: float = 300.0  # an account that failed is left alone this long, then tried with one message
    arrival_age_seconds: float = 120.0  # a message is counted as arrived, or not, so long after it was taken
    arrivals_seconds: float = 900.0  # an account is judged by what it took for so long,
    arrivals_least: int = 20  # if that was so many,
    arrivals_dead_share: float = 0.2  # and is dead to a country with less than this share of what usually arrives there
    arrivals_usual_seconds: float = DAY  # what usually arrives is counted for so long before,
    arrivals_usual_least: int = 100  # if it took so many then,
    arrivals_usual_share: float = 0.3  # and so many arrived: where few are ever reported, nothing follows
    arrivals_keep_days: float = 2.0
    cache_seconds: float = 5.0  # accounts, routes and clients, per process

    batch_bytes: int = 512 * 1024 * 1024  # of one file with many notifications
    batch_rows: int = 1_000_000  # in one such file
    batch_statement_seconds: float = 300.0  # the longest that storing one may take, statement by statement

    sweep_seconds: float = 5.0  # a control worker's own timer
    hint_expiry_seconds: float = 60.0  # an outage must not pile up stale hints
    hint_circuit_seconds: float = 5.0  # no hints for this long after the broker failed
    unmatched_alarm_seconds: float = 600.0  # an event without a message alarms after this long

    redact_after_days: float = 30.0  # after its end a notification loses its texts and addresses
    delete_after_days: float = 90.0  # after its end a notification is deleted, with all that belongs to it
    unmatched_keep_days: float = 30.0  # a report that matches no message is deleted then
    clean_seconds: float = 20.0  # one run of redact or clean, at most
    clean_share: float = 0.5  # of one core while it runs, at most; the rest of the time it pauses

    urgent_overdue_seconds: float = 60.0  # not ready once something of critical, high or control is due for longer
    overdue_seconds: float = 300.0  # the same for the other lanes
    heartbeat_seconds: float = 10.0  # between beats of the scheduler; control workers beat with every sweep
    heartbeats_missed: int = 3  # then it is said
    transaction_alarm_seconds: float = 300.0  # a transaction open for longer in our database alarms

    @property
    def judged_seconds(self) -> float:
        """How far back an account's arrivals are looked at when it is judged."""
        return self.arrival_age_seconds + self.arrivals_seconds

    @property
    def connections(self) -> int:
        """Of one process: those of a drain, and half as many for strangers that may be slow."""
        return self.send_concurrency + self.send_concurrency // 2

    @property
    def longest_wave_seconds(self) -> float:
        """From the begin of a wave until its last answer is on file."""
        deadline = max(self.send_deadline_seconds, self.critical_send_deadline_seconds)
        return self.late_start_seconds + deadline + self.margin_seconds

    @property
    def longest_drain_seconds(self) -> float:
        """The longest a drain may hold a worker: its last wave may begin just before its time is up."""
        return self.drain_seconds + self.longest_wave_seconds

    @property
    def beat_limit_seconds(self) -> float:
        """How old the scheduler's sign of life may be."""
        return self.heartbeats_missed * self.heartbeat_seconds

    @property
    def sweeper_limit_seconds(self) -> float:
        """How old the sign of life of a control worker's own timer may be."""
        return self.heartbeats_missed * self.sweep_seconds

    @property
    def canary_limit_seconds(self) -> float:
        """How old a lane's last canary may be, and how long one is of use.

        In a lane with a backlog the hints before it may all be nearly as old as hints get, and the last of them begins a
        drain: what is taken later than that was not kept waiting by work.
        """
        return self.beat_limit_seconds + self.hint_expiry_seconds + self.longest_drain_seconds

    def due_limit_seconds(self, lane: Lane) -> float:
        """For how long an entry of a lane may be due."""
        return self.urgent_overdue_seconds if lane in URGENT else self.overdue_seconds


@cache
def numbers() -> Numbers:
    """The numbers in force."""
    return Numbers(**settings.LANDFALL)
