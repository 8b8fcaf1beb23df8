"""Batches in the operators' room."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client as Browser

from notifications.models import Batch
from tests.notifications.admin.test_admin import act, page
from tests.notifications.batches import guest_batch


def browser_of(*codenames: str) -> Browser:
    user = get_user_model().objects.create_user("ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_batch", *codenames]))
    browser = Browser()
    browser.force_login(user)
    return browser


@pytest.fixture
def operator(seeded):
    return browser_of("operate_notification")


def test_shows_how_far_it_is(operator):
    batch = guest_batch(3, reference="may")

    shown = page(operator, f"batch/{batch.id}/change/")

    assert "3 open" in shown
    assert "may" in page(operator, "batch/?q=may")
    assert str(batch.id) in page(operator, f"batch/?q={batch.id}")


def test_pauses_resumes_and_cancels(operator):
    batch = guest_batch(3)

    told = [
        act(operator, "batch", f"{change}_selected", batch.id) for change in ("pause", "resume", "cancel", "resume")
    ]

    for said, page_ in zip(("3 paused", "3 resumed", "3 stopped", "is cancelled, for good"), told, strict=True):
        assert said in page_
    assert Batch.objects.get().state == "cancelled"


def test_whoever_may_look_may_not_act(seeded):
    batch, viewer = guest_batch(1), browser_of()

    act(viewer, "batch", "cancel_selected", batch.id)

    assert "cancel_selected" not in page(viewer, "batch/")
    assert Batch.objects.get().state == "accepted"
