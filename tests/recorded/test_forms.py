"""Forms for each provider: references if it follows them, each event once, and text for parts that
cannot be strict if the provider enforces the schema."""

import pytest

from soorma_ai.adapters.models.forms import form_for
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import Mode
from soorma_ai.kernel.rules.schemas.portable import object_schema

MARK = "only said here"
OPEN: JsonObject = {"type": "object"}


def decision(result: JsonObject) -> JsonObject:
    order = object_schema({"id": {"type": "string", "description": MARK}})
    request: JsonObject = {"$ref": "#/$defs/request"}
    steps: list[Json] = [
        request,
        object_schema({"action": {"const": "publish_all"}, "requests": {"type": "array", "items": request}}),
        object_schema({"action": {"const": "complete"}, "result": result}),
    ]
    document = object_schema({"reasoning": {"type": "string"}, "step": {"anyOf": steps}})
    branch = object_schema({"action": {"const": "publish:order"}, "data": order})
    return {**document, "$defs": {"request": {"anyOf": [branch]}}}


@pytest.mark.parametrize(
    ("provider", "wanted", "direct", "result", "mode", "is_strict", "is_shared"),
    [
        ("openai", "json_schema", True, OPEN, "json_schema", True, True),
        ("openai", "tools", True, OPEN, "tools", True, True),
        ("hosted_vllm", "tools", True, OPEN, "tools", True, True),
        ("openai", "json_schema", False, OPEN, "json_schema", True, True),
        ("azure", "tools", False, OPEN, "tools", True, True),
        ("hosted_vllm", "json_schema", False, OPEN, "json_schema", True, True),
        ("hosted_vllm", "tools", False, OPEN, "tools", False, False),
        ("gemini", "json_schema", False, OPEN, "json_schema", False, True),
        ("gemini", "tools", False, OPEN, "tools", False, False),
        ("ollama_chat", "json_schema", False, OPEN, "json_schema", False, True),
        ("mistral", "json_schema", False, OPEN, "json_schema", False, False),
        ("anthropic", "json_schema", False, OPEN, "tools", False, False),
        ("anthropic", "json_schema", False, object_schema({}), "json_schema", True, False),
        ("anthropic", "json_schema", False, object_schema({"a": OPEN}), "tools", False, False),
        ("openai", "json", True, OPEN, "json", False, True),
        ("anthropic", "md_json", False, OPEN, "md_json", False, True),
    ],
)
def test_a_provider_sees_each_event_once_in_its_strictest_form(
    provider: str, wanted: Mode, direct: bool, result: JsonObject, mode: Mode, is_strict: bool, is_shared: bool
) -> None:
    form = form_for(wanted, provider, decision(result), direct=direct)
    assert (form.mode, form.wire.strict, "$defs" in form.wire.schema) == (mode, is_strict, is_shared)
    assert form.wire.text.count(MARK) == 1
    assert is_shared or "$ref" not in form.wire.text


def test_anthropic_gets_a_tool_for_more_choices_than_its_schemas_accept() -> None:
    many = object_schema({f"f{n}": {"type": "string"} for n in range(17)}, optional=[f"f{n}" for n in range(17)])
    assert form_for("json_schema", "anthropic", decision(many), direct=False).mode == "tools"
