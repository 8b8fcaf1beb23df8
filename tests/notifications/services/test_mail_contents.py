"""What is stored of an e-mail: styled once, so that every try sends the same bytes."""

from __future__ import annotations

import pytest
from django.utils import timezone

from notifications import send
from notifications.accounts import accounts
from notifications.lanes import Lane
from notifications.models import Notification
from notifications.services.dry_run import dry_run
from tests.factories import MAILBOX

pytestmark = pytest.mark.usefixtures("seeded")

HTML = "<html><head><style>p { color: red }</style></head><body><p>Ready</p></body></html>"
STYLED = '<p style="color: red;">Ready</p>'
FILE = {"name": "a.txt", "content_type": "text/plain", "content": "QQ=="}


def content(**fields):
    return {"email": {"subject": "Table", "text": "Ready", **fields}}


def stored():
    return Notification.objects.get().content["email"]


class TestHtml:
    def test_is_stored_with_its_styles_in_its_elements(self):
        send({"email": MAILBOX}, content(html=HTML))

        assert STYLED in stored()["html"]

    def test_is_sent_as_it_is_stored(self, world):
        send({"email": MAILBOX}, content(html=HTML))

        world.drain(Lane.NORMAL)

        assert world.sandbox.messages()[0][1].content.html == stored()["html"]

    def test_of_the_same_request_is_the_same_request(self):
        first = send({"email": MAILBOX}, content(html=HTML), idempotency_key="k")
        again = send({"email": MAILBOX}, content(html=HTML), idempotency_key="k")

        assert (again.id, again.replayed) == (first.id, True)

    def test_of_a_dry_run_is_stored_nowhere(self):
        fields = {
            "to": {"email": MAILBOX},
            "content": content(html=HTML, attachments=[FILE], reply_to="help@example.org"),
        }

        route, (step,) = dry_run(fields, client_name="internal", now=timezone.now(), accounts=accounts)

        assert (route, step.channel, step.address) == ("email", "email", "d…@example.org")
        assert Notification.objects.count() == 0


class TestWhatItDoesNotHave:
    def test_is_not_stored(self):
        send({"email": MAILBOX}, content())

        assert stored() == {"subject": "Table", "text": "Ready"}
