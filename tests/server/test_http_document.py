import json
from http import HTTPStatus

import pytest
from http_kit import local, the_document
from openapi_spec_validator import OpenAPIV31SpecValidator

from soorma_ai import Platform
from soorma_ai.api.operation import Operation
from soorma_ai.operations import OPERATIONS

# The endpoints printed in the seed documents.
MEMORY = [
    ("POST", "/v1/memory/task-context"),
    ("GET", "/v1/memory/task-context/{task_id}"),
    ("DELETE", "/v1/memory/task-context/{task_id}"),
    ("GET", "/v1/memory/task-context/by-subtask/{sub_task_id}"),
    ("POST", "/v1/memory/plan-context"),
    ("GET", "/v1/memory/plan-context/{plan_id}"),
    ("POST", "/v1/memory/plans"),
    ("GET", "/v1/memory/plans"),
    ("POST", "/v1/memory/sessions"),
    ("GET", "/v1/memory/sessions"),
    ("POST", "/v1/working-memory/{plan_id}"),
    ("GET", "/v1/working-memory/{plan_id}/{key}"),
]


def test_the_document_is_openapi_3_1() -> None:
    OpenAPIV31SpecValidator(the_document()).validate()  # type: ignore[arg-type]


async def test_the_document_is_served_without_a_token(platform: Platform) -> None:
    async with local(platform) as http:
        served = await http.get("/v1/openapi.json")
    assert served.json() == the_document()


def test_every_operation_is_named_once_and_described() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len(set(names)) == len(names)
    places = [(operation.method, operation.path) for operation in OPERATIONS]
    assert len(set(places)) == len(places)
    assert [operation.name for operation in OPERATIONS if not operation.words] == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_the_path_of_an_operation_has_all_its_path_parameters(operation: Operation) -> None:
    assert operation.template.count("{") == len(operation.in_path)
    assert HTTPStatus.INTERNAL_SERVER_ERROR not in operation.answers


@pytest.mark.parametrize(("method", "path"), MEMORY)
def test_the_document_has_the_memory_endpoints_of_the_seeds(method: str, path: str) -> None:
    assert method.lower() in the_document()["paths"][path]


def test_forms_refuse_unknown_fields() -> None:
    schemas = the_document()["components"]["schemas"]
    assert schemas["Goal"]["additionalProperties"] is False
    assert set(schemas["Goal"]["properties"]) == {
        *("goal", "data", "session_id", "planner", "approve", "response_event", "parent_plan_id")
    }
    assert "null" not in json.dumps(the_document()["paths"]["/v1/plans"]["get"]["parameters"])
