"""Parts of the OpenAPI document that ninja cannot derive."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from pydantic import BaseModel

from notifications.api.problems import CONTENT_TYPE, Problem
from notifications.services.batch.fields import BatchFields
from notifications.services.endpoint_fields import EndpointChanges, NewEndpoint
from notifications.services.request import NewNotification

_REFERENCES = "#/components/schemas/{model}"

# Bodies are read by the product's own validator, so that every way in refuses alike.
BODIES: tuple[type[BaseModel], ...] = (NewNotification, BatchFields, NewEndpoint, EndpointChanges)


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """A JSON body, as ninja is told of it."""
    content = {"application/json": {"schema": {"$ref": _REFERENCES.format(model=model.__name__)}}}
    return {"requestBody": {"required": True, "content": content}}


SUBMIT_BODY: dict[str, Any] = {
    **body_of(NewNotification),
    "parameters": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "The same key with the same body is accepted once.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        }
    ],
}


_KEY = SUBMIT_BODY["parameters"][0]
_FILE = {"schema": {"type": "string"}}
BATCH_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"text/csv": _FILE, "application/x-ndjson": _FILE}},
    "parameters": [
        _KEY | {"description": "The same key with the same file and fields is accepted once."},
        {
            "name": "Landfall-Batch",
            "in": "header",
            "required": False,
            "description": "The batch's fields as JSON; without it, they are in the file's first line.",
            "content": {"application/json": {"schema": {"$ref": _REFERENCES.format(model="BatchFields")}}},
        },
    ],
}
SKIPPED_BODY: dict[str, Any] = {
    "responses": {200: {"description": "One row per fault", "content": {"text/csv": _FILE}}},
}


class DocumentedAPI(NinjaAPI):
    """Ninja, with the request's schema and the media type of errors in its document."""

    def get_openapi_schema(self, *args: Any, **options: Any) -> OpenAPISchema:
        document = super().get_openapi_schema(*args, **options)
        for model in BODIES:
            schema = model.model_json_schema(ref_template=_REFERENCES)
            document["components"]["schemas"].update(schema.pop("$defs", {}), **{model.__name__: schema})
        for operations in document["paths"].values():
            for operation in operations.values():
                _say_problem(operation["responses"])
        return document


def _say_problem(responses: dict[int, Any]) -> None:
    for status, response in responses.items():
        if status >= HTTPStatus.BAD_REQUEST:
            (schema,) = response["content"].values()
            response["content"] = {CONTENT_TYPE: schema}


def problems(*statuses: int) -> dict[int, Any]:
    """Error responses by status."""
    return dict.fromkeys(statuses, Problem)
