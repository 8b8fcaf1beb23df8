"""Where apps say that they have a push."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import Field

from notifications.api.documents import problems
from notifications.services.receipts import take_receipt

router = Router(tags=["receipts"])


class ReceiptIn(Schema):
    """What stood in the push, under `receipt`."""

    receipt: Annotated[str, Field(min_length=1, max_length=200)]


@router.post(
    "",
    auth=None,
    response={204: None, **problems(400, 404, 413, 422, 503)},
    summary="Say that a push arrived",
)
def submit_receipt(request: HttpRequest, given: ReceiptIn) -> Status[Any]:
    """Called by the app on the device, without an API key: the receipt proves itself. Safe to repeat."""
    take_receipt(given.receipt)
    return Status(204, None)
