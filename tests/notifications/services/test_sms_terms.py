"""What a client may text where, and what becomes of texts that make too many SMS."""

from __future__ import annotations

from io import BytesIO

import pytest
from django.utils import timezone

from notifications import selectors
from notifications.models import Client, Notification
from notifications.services.accept import Refused, send
from notifications.services.batch.accept import accept_batch
from notifications.services.batch.faults import BadRows
from notifications.services.batch.rows import Format
from tests import factories
from tests.notifications.batches import batch_of, refused, said

pytestmark = pytest.mark.usefixtures("seeded")

GERMAN, FRENCH = factories.NUMBER, "+33612345678"
LANDLINE, PREMIUM, PAGER = "+493012345678", "+499001234567", "+447640123456"
LONG = "a" * 161  # two SMS
CURLY = "\u201cTable\u201d ready \u2013 come in\u2026 " * 4  # two SMS in UCS-2, one in GSM-7


def terms(**fields):
    """What Django code in this project may do."""
    Client.objects.filter(name="internal").update(**fields)
    selectors.clients.forget()


def text(to, text, **fields):
    send({"sms": to}, {"sms": {"text": text}}, **fields)
    return Notification.objects.latest("id").content["sms"]["text"]


def refusal(to, words):
    with pytest.raises(Refused) as refused:
        text(to, words)
    [error] = refused.value.errors
    return error.field, error.reason, error.accepted


class TestCountries:
    def test_all_are_open_unless_some_are_named(self):
        assert text(FRENCH, "Table ready") == "Table ready"

    def test_others_are_refused_where_some_are(self):
        terms(sms_countries=["DE", "AT"])

        assert text(GERMAN, "Table ready") == "Table ready"
        field, reason, accepted = refusal(FRENCH, "Table ready")
        assert (field, accepted) == ("to.sms", "numbers in AT, DE")
        assert "country" in reason

    def test_hold_for_each_row_of_a_batch(self):
        terms(sms_countries=["DE"])
        file = BytesIO(f"to\n{GERMAN}\n{FRENCH}\n".encode())

        with pytest.raises(BadRows) as refused:
            accept_batch(
                file, Format.CSV, {"content": {"sms": {"text": "Hi"}}}, client_name="internal", now=timezone.now()
            )

        assert [(error.line, error.field) for error in refused.value.errors] == [(3, "to.sms")]

    def test_that_are_closed_later_do_not_change_the_answer_to_an_earlier_request(self):
        request = {"to": {"sms": FRENCH}, "content": {"sms": {"text": "Hi"}}, "idempotency_key": "k1"}
        first = send(**request)
        terms(sms_countries=["DE"])

        assert send(**request).id == first.id


class TestKinds:
    @pytest.mark.parametrize(
        ("number", "reason"), [(LANDLINE, "is a landline number"), (PREMIUM, "is a premium-rate number")]
    )
    def test_that_cannot_read_or_cost_are_refused(self, number, reason):
        accepted = "numbers of these kinds: mobile, fixed_or_mobile, toll_free, voip, unknown"

        assert refusal(number, "Table ready") == ("to.sms", reason, accepted)

    @pytest.mark.parametrize("number", ["+14155550100", PAGER, "+551181234567"])
    def test_that_may_be_ordinary_numbers_pass(self, number):
        assert text(number, "Table ready") == "Table ready"

    def test_are_those_that_the_client_may_write_to(self):
        terms(sms_kinds=["fixed_line"])

        assert text(LANDLINE, "Table ready") == "Table ready"
        assert refusal(GERMAN, "Table ready")[1] == "is a mobile number"

    def test_are_of_no_matter_where_no_step_sends_an_sms(self):
        send({"sms": LANDLINE, "email": factories.MAILBOX}, {"email": factories.CONTENT["email"]}, "email")

        assert Notification.objects.get().recipient["sms"] == LANDLINE

    def test_hold_for_each_row_of_a_batch(self):
        file = f"to,name\n{GERMAN},Ana\n{LANDLINE},Bo\n"

        assert said(refused(file)) == [(3, "to.sms", "is a landline number")]
        assert batch_of(file, skip_bad_rows=True).accepted_count == 1

    def test_that_are_short_are_refused_at_home_in_a_batch_too(self, settings):
        settings.DEFAULT_REGION = "DE"
        file = "to,name\n72345,Ana\n"

        [(line, field, reason)] = said(refused(file))
        assert (line, field) == (2, "to.sms")
        assert reason == refusal("72345", "Table ready")[1]
        assert reason.startswith("is a short number")

    def test_that_are_closed_later_do_not_change_the_answer_to_an_earlier_request(self):
        request = {"to": {"sms": GERMAN}, "content": {"sms": {"text": "Hi"}}, "idempotency_key": "k1"}
        first = send(**request)
        terms(sms_kinds=["voip"])

        assert send(**request).id == first.id


class TestLongTexts:
    def test_take_as_many_sms_as_they_need_unless_there_is_a_limit(self):
        assert text(GERMAN, LONG) == LONG

    def test_are_refused_over_the_limit(self):
        terms(sms_segments=1)

        assert text(GERMAN, LONG[1:]) == LONG[1:]
        field, reason, accepted = refusal(GERMAN, LONG)
        assert (field, accepted) == ("content.sms.text", "a text that makes at most 1 SMS")
        assert reason.startswith("makes 2 SMS")

    def test_are_shortened_where_the_client_would_rather(self):
        terms(sms_segments=1, long_sms="truncate")

        assert text(GERMAN, LONG) == "a" * 157 + "..."


class TestPlainTexts:
    def test_are_sent_letter_by_letter_unless_the_client_asks(self):
        assert text(GERMAN, CURLY) == CURLY

    def test_lose_their_curls_where_it_does(self):
        terms(plain_sms=True, sms_segments=1)

        assert text(GERMAN, CURLY) == '"Table" ready - come in... ' * 4
