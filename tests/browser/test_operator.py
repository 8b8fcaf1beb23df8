"""What an operator clicks, from the search box to a letter that is sent again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from notifications import send
from notifications.lanes import Lane
from notifications.models import DeadLetter, Notification
from notifications.states import End
from tests.browser.conftest import LOOPBACK, MAILBOX, NUMBERS, OPERATOR, SUBJECT, TEXT, Operator
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(180)


def accept(to: dict[str, str], **options: Any) -> UUID:
    content = {"sms": {"text": TEXT}, "email": {"subject": SUBJECT, "text": TEXT}}
    return send(to=to, content={channel: content[channel] for channel in to}, **options).id


def wait_for_end(notification: UUID, end: End) -> None:
    ended = Notification.objects.filter(id=notification, end=end)
    wait_until(ended.exists, seconds=30, what=f"{notification} {end}")


class TestNotification:
    def test_is_found_by_its_number_and_tells_its_story(self, operator: Operator) -> None:
        accept({"sms": NUMBERS["01"]}, reference="table 11")
        wanted = accept({"sms": NUMBERS["03"], "email": MAILBOX}, reference="table 12")
        wait_for_end(wanted, End.DELIVERED)
        page = operator.page

        operator.admin("notifications/notification/")
        page.locator("#searchbar").fill(str(wanted))
        page.get_by_role("button", name="Search").click()
        expect(page.locator("#result_list tbody tr")).to_have_count(1)
        operator.look_at("admin-notifications")
        page.get_by_role("link", name=str(wanted)).click()

        told = page.locator("#content-main")
        for words in (
            "Delivered: the SMS failed, because",
            "the e-mail was delivered.",
            "accepted",
            "attempt 1: twilio-main took the SMS",
            "twilio-main could not deliver the SMS",
            "attempt 1: postmark-main took the e-mail",
            "postmark-main delivered the e-mail",
            "ended: delivered",
        ):
            expect(told).to_contain_text(words)
        operator.look_at("admin-notification")

    def test_is_cancelled_before_it_is_sent(self, operator: Operator) -> None:
        scheduled = accept({"sms": NUMBERS["01"]}, reference="table 13", send_at=timezone.now() + timedelta(hours=3))

        operator.admin(f"notifications/notification/?q={scheduled}")
        operator.act("Cancel what has not been sent")

        expect(operator.page.locator(".messagelist")).to_contain_text(f"{scheduled}: stopped")
        wait_for_end(scheduled, End.CANCELLED)
        expect(operator.page.locator("#result_list tbody tr")).to_contain_text("Cancelled")
        operator.look_at("admin-cancelled")


class TestDeadLetter:
    def test_is_sent_again_and_arrives(self, operator: Operator) -> None:
        sandbox, page = operator.house.sandbox, operator.page
        sandbox.set_faults("postmark-main", outage="status_503")
        lost = accept({"email": MAILBOX}, reference="table 14")
        open_letters = DeadLetter.objects.filter(message__notification=lost, resolved_at__isnull=True)
        wait_until(open_letters.exists, seconds=60, what="a dead letter")
        sandbox.set_faults("postmark-main", outage=None)

        operator.admin("notifications/deadletter/?resolved_at__isempty=1")
        expect(page.locator("#result_list tbody tr")).to_have_count(1)
        operator.look_at("admin-dead-letters")
        operator.act("Send again (a held one may arrive twice)")

        expect(page.locator(".messagelist")).to_contain_text("will be sent again")
        wait_for_end(lost, End.DELIVERED)
        operator.admin("notifications/deadletter/")
        expect(page.locator("#result_list tbody tr")).to_contain_text(["Replayed"])
        expect(page.locator("#result_list tbody tr")).to_contain_text([OPERATOR])


class TestAccount:
    def test_is_shown_without_its_credentials(self, operator: Operator) -> None:
        page = operator.page

        operator.admin("notifications/provideraccount/")
        expect(page.locator("#result_list")).to_contain_text("postmark-main")
        operator.look_at("admin-accounts")
        page.get_by_role("link", name="twilio-main").click()

        expect(page.get_by_label("Slug")).to_have_value("twilio-main")
        expect(page.get_by_label("Credentials")).to_have_value("")

    def test_is_ranked_for_a_number(self, operator: Operator) -> None:
        page = operator.page

        operator.admin("notifications/provideraccount/")
        page.get_by_role("link", name="Who would send?").click()
        page.get_by_label("Address").fill("nobody")
        page.get_by_role("button", name="Who would send?").click()
        expect(page.locator(".errorlist")).to_contain_text("Not a phone number")
        page.get_by_label("Address").fill(NUMBERS["01"])
        page.get_by_role("button", name="Who would send?").click()

        first = page.locator("#explained tbody tr").first.locator("td, th")
        expect(first).to_contain_text(["1", "twilio-main", "twilio", "priority 0"])
        assert NUMBERS["01"].removeprefix("+") not in page.url


class TestApiDocs:
    def test_show_every_operation_and_ask_nobody_else(self, operator: Operator) -> None:
        operator.page.goto(f"{operator.house.web_url}/api/v1/docs")

        for summary in ("Submit a notification", "Search notifications", "Where is it?", "Stop it"):
            expect(operator.page.get_by_text(summary, exact=True)).to_be_visible()
        operator.look_at("api-docs")
        assert operator.places_asked() == {LOOPBACK}


class TestFlower:
    def test_shows_workers_their_lanes_and_tasks_by_name(self, operator: Operator) -> None:
        wait_for_end(accept({"sms": NUMBERS["01"]}), End.DELIVERED)
        page, url = operator.page, operator.house.flower_url

        page.goto(f"{url}/workers")
        for worker in ("urgent@", "other@"):
            expect(page.locator("#workers-table")).to_contain_text(worker)
        operator.look_at("flower-workers")
        page.get_by_role("link", name="urgent@").click()
        page.locator("#worker-tab-queues").click()
        for lane in (Lane.CRITICAL, Lane.HIGH, Lane.CONTROL):
            expect(page.locator("#tab-queues")).to_contain_text(lane.value)

        page.goto(f"{url}/tasks")
        expect(page.locator("#tasks-table")).to_contain_text("notifications.drain")
        expect(page.locator("#tasks-table")).to_contain_text("'lane': 'normal'")
        operator.look_at("flower")
