from __future__ import annotations

from collections.abc import Iterator

import pytest

from providers.sandbox import Pace, Sandbox, SandboxAccount
from tests.providers.sandbox.clients import (
    OTHER_TWILIO,
    POSTMARK_TOKEN,
    RESEND,
    TWILIO,
    PostmarkClient,
    ResendClient,
    TwilioClient,
)
from tests.providers.sandbox.product import Product

PACE = Pace(
    sent_after=0.01,
    delivered_after=0.02,
    late_after=0.03,
    slow_answer=0.05,
    hang=0.05,
    look_up_lag=0.0,
    unanswered_after=0.05,
    webhook_retries=(0.01, 0.01),
)


@pytest.fixture
def product() -> Iterator[Product]:
    product = Product()
    yield product
    product.close()


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def sandbox(product: Product, log: list[str]) -> Iterator[Sandbox]:
    webhook_url = f"http://pm-user:pm-pass-9f2c@{product.host}/webhooks/mail/"
    postmark = SandboxAccount("mail", "postmark", {"server_token": POSTMARK_TOKEN}, webhook_url)
    resend = SandboxAccount("letters", "resend", RESEND, f"http://{product.host}/webhooks/letters/")
    with Sandbox([TWILIO, OTHER_TWILIO, postmark, resend], pace=PACE, log=log.append) as sandbox:
        yield sandbox


@pytest.fixture
def twilio(sandbox: Sandbox, product: Product) -> Iterator[TwilioClient]:
    client = TwilioClient(sandbox, TWILIO, f"http://{product.host}/webhooks/sms-a/")
    yield client
    client.http.close()


@pytest.fixture
def other_twilio(sandbox: Sandbox, product: Product) -> Iterator[TwilioClient]:
    client = TwilioClient(sandbox, OTHER_TWILIO, f"http://{product.host}/webhooks/sms-b/")
    yield client
    client.http.close()


@pytest.fixture
def postmark(sandbox: Sandbox) -> Iterator[PostmarkClient]:
    client = PostmarkClient(sandbox, "mail")
    yield client
    client.http.close()


@pytest.fixture
def resend(sandbox: Sandbox) -> Iterator[ResendClient]:
    client = ResendClient(sandbox, "letters")
    yield client
    client.http.close()
