"""A whole journey at LOG_LEVEL=DEBUG, and nothing private in anything that a house lets out."""

from __future__ import annotations

import gzip
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from celery import current_app
from django.contrib.auth import get_user_model
from django.db import connection

from notifications.models import Client, DeadLetter, Incident, Message, Notification, ProviderAccount
from notifications.services.keys import Scope, make_key
from notifications.states import End, State
from tests.houses import House, open_house
from tests.outputs import BrokerTap, Outputs, SentryServer, logged_in
from tests.scanner import Scanner
from tests.waiting import wait_until

SOURCES = ("logs", "sentry", "flower", "broker", "admin", "api", "commands")
PLANTED = "+4915199887701"  # let out on purpose

# Every text has a word of its own, and so does every mailbox: a part of one is found as well.
DELIVERED, UNDELIVERABLE, INVALID, SLOW, DROPPED, SENT_BY_COMMAND, SCHEDULED, BREAKS, ASKED_FOR = (
    f"+4915133{number}" for number in
    ("445501", "556603", "667704", "778806", "889909", "112201", "223301", "334401", "445511")
)  # fmt: skip
FALLBACK, LOST = "delivered+zimtstern@leak.example.org", "delivered+pfefferkuchen@leak.example.org"
WORDS = (
    "Zimtstern", "Pfefferkuchen", "Kardamom", "Sternanis", "Lebkuchen", "Muskatblüte", "Vanillekipferl", "Marzipan",
    "Spekulatius",
)  # fmt: skip
BREAKS_REFERENCE = "breaks"


@dataclass
class Journey:
    """What was told on the way, and where it may have got out."""

    outputs: Outputs
    scanner: Scanner


class Caller:
    """A client of the API, and what it was answered."""

    def __init__(self, outputs: Outputs, key: str) -> None:
        self._outputs = outputs
        self._url = f"{outputs.house.web_url}/api/v1"
        self._headers = {"Authorization": f"Bearer {key}"}

    def submit(self, to: dict[str, str], word: str, **fields: Any) -> Any:
        text = f"Ihr Code im {word} lautet 4711.\nBis bald – {word}"
        content = {"sms": {"text": text}, "email": {"subject": f"{word} für Sie", "text": text, "html": f"<p>{text}"}}
        body = {"to": to, "content": {channel: content[channel] for channel in to}, **fields}
        return self.call("POST", "/notifications", json=body)

    def call(self, method: str, path: str, **options: Any) -> Any:
        answer = requests.request(method, self._url + path, **{"headers": self._headers, **options}, timeout=30)
        self._outputs.answers.append(answer.content + repr(answer.headers).encode())
        return answer.json()


@pytest.fixture(scope="module")
def journey(django_db_blocker: Any, tmp_path_factory: Any) -> Iterator[Journey]:
    """The whole journey, told to its end."""
    environment = {
        "LOG_LEVEL": "DEBUG", "TRIES": "2", "NORMAL_RETRY_SECONDS": "1", "CACHE_SECONDS": "1",
        "DJANGO_SETTINGS_MODULE": "tests.traced_settings",
    }  # fmt: skip
    with (
        django_db_blocker.unblock(),
        SentryServer().running() as sentry,
        open_house(tmp_path_factory.mktemp("logs"), with_flower=True, SENTRY_DSN=sentry.dsn, **environment) as house,
        BrokerTap(house.broker.url).running() as tap,
    ):
        password, keys = secrets.token_hex(12), _keys()
        get_user_model().objects.create_superuser("operator", password=password)
        outputs = Outputs(house, sentry, tap, logged_in(house, "operator", password))
        _tell(outputs, keys["API key"])
        yield Journey(outputs, _scanner(house, {**keys, "admin password": password}))
        connection.close()


def _keys() -> dict[str, str]:
    return {
        "API key": make_key(Client.objects.get_or_create(name="shop")[0], list(Scope)),
        "wrong key": f"lf_live_{secrets.token_urlsafe(32)}",
    }


def _scanner(house: House, more: dict[str, str]) -> Scanner:
    names = ("SECRET_KEY", "ADDRESS_KEY", "CREDENTIAL_KEYS")
    passwords = {
        "database password": urlsplit(house.processes.environment["DATABASE_URL"]).password or "",
        "broker password": urlsplit(house.broker.url).password or "",
        "Flower password": house.flower_login[1],
    }
    credentials = {
        f"{name} of {account.slug}": value
        for account in ProviderAccount.objects.all()
        for name, value in account.credentials.items()
        if not name.endswith(("_sid", "_user"))
    }
    return Scanner(
        numbers=[
            DELIVERED, UNDELIVERABLE, INVALID, SLOW, DROPPED, SENT_BY_COMMAND, SCHEDULED, BREAKS, ASKED_FOR,
        ],
        mailboxes=[FALLBACK, LOST],
        words=WORDS,
        secrets={name: os.environ[name] for name in names} | passwords | credentials | more,
    )  # fmt: skip


def _tell(outputs: Outputs, key: str) -> None:
    caller = Caller(outputs, key)
    _deliver(outputs, caller)
    _ask_and_be_refused(outputs, caller)
    _lose_a_letter(outputs, caller)
    _break(outputs, caller)
    outputs.run("doctor")


def _deliver(outputs: Outputs, caller: Caller) -> None:
    """What arrives, by whatever way, and what is refused."""
    caller.submit({"sms": DELIVERED}, WORDS[2], reference="order 7", metadata={"table": "7"})
    caller.submit({"sms": UNDELIVERABLE, "email": FALLBACK}, WORDS[0])
    caller.submit({"sms": INVALID}, WORDS[3])
    caller.submit({"sms": SLOW}, WORDS[4])
    caller.submit({"sms": DROPPED}, WORDS[5])
    said = outputs.run("send", "--sms", SENT_BY_COMMAND, "--text", f"Heute {WORDS[6]}", "--wait")
    assert "Delivered" in said, said
    outputs.run("send", "--sms", f"{SENT_BY_COMMAND}7", "--text", f"Heute {WORDS[6]}")
    wait_until(lambda: not Notification.objects.filter(end__isnull=True).exists(), seconds=30, what="an end for each")
    ends = set(Notification.objects.values_list("end", flat=True))
    assert ends == {End.DELIVERED, End.FAILED}


def _ask_and_be_refused(outputs: Outputs, caller: Caller) -> None:
    """Addresses in query strings, keys that are wrong, bodies that are not JSON, and webhooks that nobody signed."""
    web = outputs.house.web_url
    for notification in Notification.objects.all():
        caller.call("GET", f"/notifications/{notification.id}")
    caller.call("GET", "/notifications", params={"recipient": DELIVERED})
    caller.call("GET", "/notifications", params={"limit": f"{ASKED_FOR} {FALLBACK}"})
    caller.call("GET", "/notifications", headers={"Authorization": f"Bearer {_keys()['wrong key']}"})
    caller.submit({"sms": f"{ASKED_FOR}99", "email": FALLBACK.replace("@", "@@")}, WORDS[7])
    caller.call("POST", "/notifications", data=f'{{"to": {{"sms": "{ASKED_FOR}"')
    outputs.operator.get(f"{web}/admin/notifications/message/", params={"q": DELIVERED}, timeout=30)
    outputs.operator.get(f"{web}/admin/notifications/message/{DELIVERED}/change/", timeout=30)
    report = {"MessageSid": "SM1", "MessageStatus": "delivered", "To": DELIVERED, "Body": WORDS[2]}
    forged = requests.post(
        f"{web}/webhooks/twilio-main/?to={DELIVERED}", data=report, headers={"X-Twilio-Signature": "x"}, timeout=30
    )
    assert forged.status_code == 403
    login = ProviderAccount.objects.get(slug="postmark-main").credentials
    for password in ("guessed-it", login["webhook_password"]):
        requests.post(
            f"{web}/webhooks/postmark-main/",
            data=f'{{"Recipient": "{FALLBACK}", "Subject": "{WORDS[0]}"',
            auth=(login["webhook_user"], password),
            timeout=30,
        )


def _lose_a_letter(outputs: Outputs, caller: Caller) -> None:
    """A message that nobody takes."""
    outputs.house.sandbox.set_faults("postmark-main", outage="status_503")
    caller.submit({"email": LOST}, WORDS[1])
    wait_until(lambda: Message.objects.filter(state=State.DEAD_LETTERED).exists(), seconds=30, what="a dead letter")
    outputs.house.sandbox.set_faults("postmark-main", outage=None)


def _break(outputs: Outputs, caller: Caller) -> None:
    """A task and a request that raise, over a row that PostgreSQL quotes in full."""
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE notification ADD CONSTRAINT broken"
            f""" CHECK (reference <> '{BREAKS_REFERENCE}' OR "end" IS NULL) NOT VALID"""
        )
    caller.submit({"sms": BREAKS}, WORDS[7], reference=BREAKS_REFERENCE)
    wait_until(lambda: DeadLetter.objects.filter(kind="task").exists(), seconds=30, what="a task that raised")
    later = caller.submit({"sms": SCHEDULED}, WORDS[8], reference=BREAKS_REFERENCE, send_at="2027-06-01T10:00:00Z")
    answer = caller.call("POST", f"/notifications/{later['id']}/cancel")
    assert answer["status"] == 500
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE notification DROP CONSTRAINT broken")
    current_app.send_task("notifications.apply", queue="control")  # which a janitor does within half a minute
    caller.call("POST", f"/notifications/{later['id']}/cancel")
    wait_until(
        lambda: Notification.objects.filter(reference=BREAKS_REFERENCE, end=End.DELIVERED).exists(),
        seconds=30,
        what="the end that could not be written",
    )


class TestOutputs:
    @pytest.mark.parametrize("source", SOURCES)
    def test_hold_nothing_private(self, journey: Journey, source: str) -> None:
        output = getattr(journey.outputs, source)()

        assert output
        assert journey.scanner.find(output) == []

    def test_tell_what_happened_all_the_same(self, journey: Journey) -> None:
        logs, sentry = journey.outputs.logs().decode(), journey.outputs.sentry()

        for event in (
            "attempt failed",
            "webhook refused",
            "webhook cannot be read",
            "IntegrityError",
            "raised unexpected",
        ):
            assert event in logs, event
        assert b'"type":"transaction"' in sentry
        assert b"IntegrityError" in sentry
        assert b"violates check constraint" in sentry
        assert b"IntegrityError" in journey.outputs.flower()


def plant_in_logs(outputs: Outputs) -> None:
    with (outputs.house.processes.logs / "web.log").open("a") as log:
        log.write(f"\n[error] Not Found: /?q=%2B{PLANTED[1:]}\n")


def plant_in_sentry(outputs: Outputs) -> None:
    body = gzip.compress(f'{{}}\n{{"type":"event"}}\n{{"message":"to \\u002b{PLANTED[1:]}"}}'.encode())
    port = urlsplit(outputs.sentry_server.dsn).port
    address = f"http://127.0.0.1:{port}/api/1/envelope/"
    requests.post(address, data=body, headers={"Content-Encoding": "gzip"}, timeout=5)


def plant_in_broker(outputs: Outputs) -> None:
    current_app.send_task("notifications.nothing", kwargs={"to": PLANTED}, queue="nobody-listens")


def plant_in_flower(outputs: Outputs) -> None:
    current_app.send_task("notifications.apply", kwargs={"to": PLANTED}, queue="control")


def plant_in_admin(outputs: Outputs) -> None:
    Incident.objects.create(key=f"{PLANTED[:3]} {PLANTED[3:6]} {PLANTED[6:]}")


def plant_in_api(outputs: Outputs) -> None:
    key = make_key(Client.objects.get(name="shop"), list(Scope))
    notification = Notification.objects.filter(reference="order 7").get()
    Notification.objects.filter(id=notification.id).update(reference=PLANTED)
    Caller(outputs, key).call("GET", f"/notifications/{notification.id}")


def plant_in_commands(outputs: Outputs) -> None:
    outputs.run("shell", "-c", f"print({PLANTED!r})")


class TestScanner:
    @pytest.mark.parametrize("source", SOURCES)
    def test_finds_what_is_planted(self, journey: Journey, source: str) -> None:
        plant: Callable[[Outputs], None] = globals()[f"plant_in_{source}"]
        scanner = Scanner(numbers=[PLANTED])

        plant(journey.outputs)

        read = getattr(journey.outputs, source)
        wait_until(lambda: scanner.find(read()), seconds=10, what=f"the plant in {source}")

    @pytest.mark.parametrize(
        "spelling",
        [
            "+4915199887701", "4915199887701", "015199887701", "%2B4915199887701", "+49 151 99 88 77 01",
            "+49%20151%2099887701", "(0151) 998877-01", "\\u002b49151\\u00399887701", "&#43;49151998877&#48;1",
        ],
    )  # fmt: skip
    def test_reads_a_number_however_it_is_written(self, spelling: str) -> None:
        assert Scanner(numbers=[PLANTED]).find(f"to={spelling}&x".encode())

    def test_reads_mailboxes_words_and_secrets_behind_escapes(self) -> None:
        scanner = Scanner(mailboxes=["ana+7@example.org"], words=["Muskatblüte"], secrets={"key": "ab/cd+ef"})

        output = rb"ana%2B7%40example.org Muskatbl\u00fcte ab%2Fcd%2Bef"

        assert [found.partition(":")[0] for found in scanner.find(output)] == [
            "key", "mailbox ana+7@exampl", "text Muskatblüte",
        ]  # fmt: skip

    def test_finds_nothing_where_nothing_is(self) -> None:
        assert (
            Scanner(numbers=[PLANTED], secrets={"key": "abcdef"}).find(b"+49\xe2\x80\xa601 lf_live_\xe2\x80\xa6") == []
        )
