"""The published document, tried against the running thing."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from config.wsgi import application
from tests.notifications.api.conftest import Caller

EXAMPLES = 25  # per operation


@pytest.fixture
def document(caller: Caller):
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)
    schema.config.update(headers={"Authorization": f"Bearer {caller.key}"})
    return schema


class TestDocument:
    def test_is_openapi_3_1_and_names_every_field(self, caller):
        document = caller.http.get("/api/v1/openapi.json").json()

        assert document["openapi"].startswith("3.1")
        assert {"to", "content", "route", "expires_at"} <= document["components"]["schemas"]["NewNotification"][
            "properties"
        ].keys()
        assert "Fault" in document["components"]["schemas"]
        assert {"to_name", "reply_to", "attachments"} <= document["components"]["schemas"]["Email"]["properties"].keys()
        file = document["components"]["schemas"]["Attachment"]
        assert file["required"] == ["name", "content_type", "content"]
        assert file["properties"]["content"]["contentEncoding"] == "base64"

    def test_is_shown_without_fetching_anything_from_elsewhere(self, caller):
        page = caller.http.get("/api/v1/docs").content.decode()

        assert "https://" not in page.replace("https://www.w3.org", "")


TAKES_NOTHING = {("GET", "/api/v1/endpoints")}
CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


class TestRunningThing:
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "/api/v1/notifications"),
            ("POST", "/api/v1/notifications/dry-run"),
            ("GET", "/api/v1/notifications"),
            ("GET", "/api/v1/notifications/{notification_id}"),
            ("POST", "/api/v1/notifications/{notification_id}/cancel"),
            ("POST", "/api/v1/batches"),
            ("GET", "/api/v1/batches/{batch_id}"),
            ("GET", "/api/v1/batches/{batch_id}/skipped"),
            ("POST", "/api/v1/batches/{batch_id}/pause"),
            ("POST", "/api/v1/batches/{batch_id}/resume"),
            ("POST", "/api/v1/batches/{batch_id}/cancel"),
            ("POST", "/api/v1/receipts"),
            ("GET", "/api/v1/endpoints"),
            ("POST", "/api/v1/endpoints"),
            ("GET", "/api/v1/endpoints/{name}"),
            ("PATCH", "/api/v1/endpoints/{name}"),
            ("DELETE", "/api/v1/endpoints/{name}"),
            ("POST", "/api/v1/endpoints/{name}/rotate-secret"),
            ("POST", "/api/v1/endpoints/{name}/test"),
        ],
    )
    @pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
    def test_answers_as_documented_and_never_with_a_fault_of_ours(self, document, method, path, mode):
        if mode is GenerationMode.NEGATIVE and (method, path) in TAKES_NOTHING:
            pytest.skip("nothing in it can be wrong")
        operation = document[path][method]
        statuses = set()

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def try_it(case):
            response = case.call()
            statuses.add(response.status_code)
            case.validate_response(response, checks=[CHECKS.get_one(name) for name in CHECKED])

        try_it()
        assert statuses

    def test_tries_every_operation_there_is(self, document):
        assert {result.ok().label for result in document.get_all_operations()} == {
            "POST /api/v1/notifications",
            "POST /api/v1/notifications/dry-run",
            "GET /api/v1/notifications",
            "GET /api/v1/notifications/{notification_id}",
            "POST /api/v1/notifications/{notification_id}/cancel",
            "POST /api/v1/batches",
            "GET /api/v1/batches/{batch_id}",
            "GET /api/v1/batches/{batch_id}/skipped",
            "POST /api/v1/batches/{batch_id}/pause",
            "POST /api/v1/batches/{batch_id}/resume",
            "POST /api/v1/batches/{batch_id}/cancel",
            "POST /api/v1/receipts",
            "GET /api/v1/endpoints",
            "POST /api/v1/endpoints",
            "GET /api/v1/endpoints/{name}",
            "PATCH /api/v1/endpoints/{name}",
            "DELETE /api/v1/endpoints/{name}",
            "POST /api/v1/endpoints/{name}/rotate-secret",
            "POST /api/v1/endpoints/{name}/test",
        }
