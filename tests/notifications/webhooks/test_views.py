"""Webhooks: believed, kept as received, answered in milliseconds, and never a stack trace."""

from __future__ import annotations

import base64
import json
from urllib.parse import urlencode

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notifications.accounts import accounts
from notifications.hints import hints
from notifications.models import Attempt, DeliveryEvent
from notifications.services.apply import apply_waiting
from notifications.services.reconcile import reconcile
from notifications.states import State
from providers.sandbox.vendors.twilio.shapes import signature
from tests import factories
from tests.notifications.racing import together
from tests.notifications.stories import told

TWILIO, POSTMARK = "/webhooks/twilio/", "/webhooks/postmark/"
PUBLIC_URL = "https://landfall.example"
FORM = "application/x-www-form-urlencoded"

ODD_TEXT = st.one_of(st.text(max_size=8), st.sampled_from(["\0", "delivered", "failed", "30003", "x" * 300]))
ODD_FORMS = st.dictionaries(
    st.sampled_from(["MessageSid", "SmsSid", "MessageStatus", "SmsStatus", "ErrorCode", "RawDlrDoneDate", "é"]),
    ODD_TEXT,
)
ODD_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ODD_TEXT, st.just("\ud800")),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(ODD_TEXT, inner, max_size=2)),
    max_leaves=4,
)
ODD_REPORTS = st.fixed_dictionaries(
    {
        "RecordType": st.one_of(
            st.sampled_from(["Bounce", "Delivery", "SpamComplaint", "SubscriptionChange"]), ODD_VALUES
        )
    },
    optional=dict.fromkeys(
        ["MessageID", "Metadata", "Type", "TypeCode", "ID", "DeliveredAt", "BouncedAt", "SuppressSending"], ODD_VALUES
    ),
)

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.fixture(autouse=True)
def public_url(settings):
    """What vendors call; what reaches us has passed a proxy and calls itself http://testserver."""
    settings.PUBLIC_URL = PUBLIC_URL


@pytest.fixture(autouse=True)
def vendors(seeded):
    factories.account("twilio")
    factories.account("postmark", provider="postmark")
    accounts.forget()


@pytest.fixture
def twilio(client):
    """A call as Twilio makes it: form fields, signed by the account's token unless told otherwise."""

    def call(fields, *, path=TWILIO, signed_by=factories.CREDENTIALS["twilio"]["auth_token"], signed=None):
        proof = signature(signed_by, PUBLIC_URL + path, fields if signed is None else signed)
        return client.post(path, urlencode(fields), content_type=FORM, headers={"X-Twilio-Signature": proof})

    return call


@pytest.fixture
def postmark(client):
    """A call as Postmark makes it: JSON, with a user and a password."""

    def call(report, *, password=factories.CREDENTIALS["postmark"]["webhook_password"], user="postmark"):
        body = report if isinstance(report, bytes) else json.dumps(report).encode()
        proof = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {proof}"} if user else {}
        return client.post(POSTMARK, body, content_type="application/json", headers=headers)

    return call


def status(sid="SM" + "1" * 32, status="delivered", **fields):
    """The fields of a Twilio status callback."""
    return {"MessageSid": sid, "MessageStatus": status, **fields}


def delivery(message_id="aa-bb", attempt=None):
    """Postmark's report of a delivery."""
    return {
        "RecordType": "Delivery",
        "MessageID": message_id,
        "Recipient": factories.MAILBOX,
        "DeliveredAt": "2026-11-30T10:00:00Z",
        "Metadata": {"attempt": attempt} if attempt else {},
    }


def attempt_of(message, number=1):
    return f"{message.id.hex}-{number}"


class TestGenuine:
    def test_is_answered_200_and_kept_raw(self, twilio):
        answer = twilio(status(ErrorCode="30003"))

        assert (answer.status_code, answer.content) == (200, b"")
        event = DeliveryEvent.objects.get()
        assert bytes(event.raw) == urlencode(status(ErrorCode="30003")).encode()
        assert (event.account.slug, event.source, event.kind, event.provider_message_id) == (
            "twilio",
            "webhook",
            "delivered",
            "SM" + "1" * 32,
        )
        assert (event.applied_at, event.message_id) == (None, None)

    def test_of_another_vendor_too(self, postmark):
        assert postmark(delivery()).status_code == 200

        event = DeliveryEvent.objects.get()
        assert (event.kind, event.provider_message_id) == ("delivered", "aa-bb")
        assert json.loads(bytes(event.raw)) == delivery()

    def test_hints_that_there_is_something_to_apply(self, twilio, queues):
        twilio(status())

        assert queues() == {"control": 1}

    def test_names_its_message_by_our_attempt_id(self, twilio):
        message = factories.message(State.SENT)

        twilio(status(), path=f"{TWILIO}?attempt={attempt_of(message)}")
        apply_waiting()

        assert told(message)[0] == State.DELIVERED

    def test_names_its_message_by_metadata(self, postmark):
        message = factories.message(State.SENT, of=factories.notification("email"))

        postmark(delivery(attempt=attempt_of(message)))
        apply_waiting()

        assert told(message)[0] == State.DELIVERED

    def test_names_its_message_by_the_vendors_id(self, twilio):
        message = factories.message(State.SENT)

        twilio(status(sid=Attempt.objects.get().provider_message_id))
        apply_waiting()

        assert told(message)[0] == State.DELIVERED

    def test_is_heard_by_an_account_that_is_off(self, twilio):
        factories.ProviderAccount.objects.update(is_on=False)
        accounts.forget()

        assert twilio(status()).status_code == 200
        assert DeliveryEvent.objects.count() == 1


class TestRepeated:
    def test_is_kept_once_and_answered_alike(self, twilio, queues):
        assert [twilio(status()).status_code for _ in range(3)] == [200, 200, 200]

        assert DeliveryEvent.objects.count() == 1
        assert queues() == {"control": 1}

    def test_at_once_is_kept_once(self, twilio, aside):
        answers = together(aside, *[lambda: twilio(status()).status_code] * 8)

        assert answers == [200] * 8
        assert DeliveryEvent.objects.count() == 1

    def test_another_status_of_the_same_message_is_another_report(self, twilio):
        twilio(status(status="sent"))
        twilio(status(status="delivered"))

        assert DeliveryEvent.objects.count() == 2


class TestNotGenuine:
    @pytest.mark.parametrize(
        "forged",
        [
            {"signed_by": "another token"},
            {"signed": {"MessageSid": "SM" + "1" * 32, "MessageStatus": "sent"}},
        ],
        ids=["another key", "other fields"],
    )
    def test_is_refused_by_signature(self, twilio, forged):
        assert twilio(status(), **forged).status_code == 403
        assert not DeliveryEvent.objects.exists()

    def test_is_refused_when_the_attempt_in_its_address_was_changed(self, client):
        message = factories.message(State.SENT)
        proof = signature(factories.CREDENTIALS["twilio"]["auth_token"], PUBLIC_URL + TWILIO, status())

        answer = client.post(
            f"{TWILIO}?attempt={attempt_of(message)}",
            urlencode(status()),
            content_type=FORM,
            headers={"X-Twilio-Signature": proof},
        )

        assert answer.status_code == 403

    @pytest.mark.parametrize("proof", [{"password": "guessed"}, {"user": "guessed"}, {"user": ""}])
    def test_is_refused_by_password_with_a_status_that_the_vendor_repeats(self, postmark, proof):
        """A 403 would end Postmark's retries for good, and a password that was mistyped is soon mended."""
        assert postmark(delivery(), **proof).status_code == 401
        assert not DeliveryEvent.objects.exists()

    def test_is_refused_without_any_signature(self, client):
        assert client.post(TWILIO, urlencode(status()), content_type=FORM).status_code == 403

    @pytest.mark.parametrize("path", [TWILIO, POSTMARK])
    @pytest.mark.parametrize("method", ["get", "post"])
    def test_an_empty_probe_gets_a_refusal_and_no_more(self, client, path, method):
        assert getattr(client, method)(path).status_code in (401, 403)
        assert not DeliveryEvent.objects.exists()

    @pytest.mark.parametrize("method", ["put", "delete", "patch"])
    def test_no_other_method_is_served(self, client, method):
        assert getattr(client, method)(TWILIO).status_code == 405

    @pytest.mark.parametrize("slug", ["pigeon", "twilio2", "TWILIO"])
    def test_an_account_that_does_not_exist_is_not_found(self, client, slug):
        assert client.post(f"/webhooks/{slug}/").status_code == 404


class TestOdd:
    def test_what_is_genuine_and_cannot_be_read_is_kept_for_a_person(self, twilio):
        assert twilio({"Surprise": "1"}).status_code == 200

        event = DeliveryEvent.objects.get()
        assert (event.kind, bytes(event.raw)) == ("unknown", b"Surprise=1")
        assert apply_waiting() == 0

    @pytest.mark.parametrize(
        "body", [b"", b"not JSON", b"[]", b"{}", b'{"RecordType": null}', b"\xff\xfe", b'{"a":' * 100_000]
    )
    def test_a_broken_body_is_kept_too(self, postmark, body):
        assert postmark(body).status_code == 200

        assert bytes(DeliveryEvent.objects.get().raw) == body

    @given(fields=ODD_FORMS)
    @settings(
        max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_whatever_a_signed_form_holds_is_kept(self, twilio, fields):
        assert twilio(fields).status_code == 200
        assert apply_waiting() == 0

    @given(report=ODD_REPORTS)
    @settings(
        max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_whatever_a_report_in_json_holds_is_kept(self, postmark, report):
        assert postmark(report).status_code == 200
        assert apply_waiting() == 0

    def test_a_word_that_nobody_knows_changes_nothing(self, twilio):
        message = factories.message(State.SENT)

        twilio(status(status="levitating"), path=f"{TWILIO}?attempt={attempt_of(message)}")
        apply_waiting()

        assert DeliveryEvent.objects.get().kind == "unknown"
        assert told(message)[0] == State.SENT

    def test_a_body_over_the_limit_is_refused(self, postmark, settings):
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000

        assert postmark(b"x" * 1001).status_code == 413
        assert not DeliveryEvent.objects.exists()

    @pytest.mark.parametrize("attempt", ["", "x", "0" * 32, "0" * 32 + "-99999", "0" * 32 + "-1", "\0", "é"])
    def test_an_attempt_id_that_is_none_is_no_name(self, twilio, attempt):
        assert twilio(status(), path=f"{TWILIO}?{urlencode({'attempt': attempt})}").status_code == 200

        assert DeliveryEvent.objects.get().message_id is None

    def test_text_that_the_database_cannot_hold_is_kept_raw(self, postmark):
        report = json.dumps(delivery(message_id="a\0b")).encode()

        assert postmark(report).status_code == 200
        assert bytes(DeliveryEvent.objects.get().raw) == report


class TestUnmatched:
    def test_a_report_about_an_unknown_message_waits(self, twilio):
        assert twilio(status()).status_code == 200
        assert apply_waiting() == 0

        event = DeliveryEvent.objects.get()
        assert (event.message_id, event.applied_at) == (None, None)

    def test_an_early_one_is_matched_by_reconcile_once_its_attempt_is_on_file(self, twilio):
        message = factories.message()
        twilio(status(sid="SM-early"), path=f"{TWILIO}?attempt={attempt_of(message)}")
        assert apply_waiting() == 0
        factories.Message.objects.update(state=State.SENT, attempt_count=1)
        factories.attempt(message, factories.account(), provider_message_id="SM-early")

        reconcile(hints, now=message.created_at)

        assert told(message)[0] == State.DELIVERED

    def test_one_about_the_call_being_made_is_matched_at_once(self, twilio):
        message = factories.message()
        factories.begun(message, factories.account())

        twilio(status(), path=f"{TWILIO}?attempt={attempt_of(message)}")
        apply_waiting()

        assert told(message)[0] == State.DELIVERED

    def test_the_attempt_of_another_account_is_not_believed(self, postmark):
        message = factories.message(State.SENT)

        assert postmark(delivery(attempt=attempt_of(message))).status_code == 200
        apply_waiting()

        assert told(message)[0] == State.SENT
        assert DeliveryEvent.objects.get().message_id is None


class TestDatabaseAway:
    @pytest.mark.parametrize("known", [True, False], ids=["account known", "account not yet read"])
    def test_asks_the_vendor_to_come_again(self, twilio, outage, known):
        if known:
            accounts.usable("DE")

        outage.begin()
        answer = twilio(status())
        outage.end()

        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
        connection.close()
        assert twilio(status()).status_code == 200
