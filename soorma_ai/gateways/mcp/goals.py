"""Goals as tools, and standings as their results: pure."""

from collections.abc import Iterable, Mapping
from typing import cast

from mcp_types import CallToolResult, ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, TextContent, Tool
from pydantic_core import from_json

from soorma_ai.errors import LocalProtocolError
from soorma_ai.gateways.goals import offered_goals
from soorma_ai.gateways.mcp.standing import Standing
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import Json, JsonObject, compact

PLAN_TOOL = "soorma.plan"
PLAN_ID = "plan_id"
# Name in the `_meta` of a result.
META_PLAN_ID = "soorma/plan_id"
_FLAT = ("string", "number", "integer", "boolean")
_WORDS: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def goals_of(known: Iterable[RegisteredEvent], only: tuple[str, ...] | None) -> dict[str, RegisteredEvent]:
    """Return the offered goals by name, in order. Of a goal with several planners, the first one's description is
    told."""
    found: dict[str, RegisteredEvent] = {}
    for one in offered_goals(known, only):
        if one.definition.event_name != PLAN_TOOL:
            found.setdefault(one.definition.event_name, one)
    return found


def tools_of(goals: Mapping[str, RegisteredEvent]) -> list[Tool]:
    return [*map(_tool, goals.values()), _PLAN]


def _tool(goal: RegisteredEvent) -> Tool:
    definition = goal.definition
    return Tool(
        name=definition.event_name,
        description=definition.description or definition.when_to_use or None,
        input_schema={"type": "object", **definition.payload_schema},
        output_schema=output_of(goal),
    )


def output_of(goal: RegisteredEvent) -> JsonObject | None:
    """Return the schema of a goal's result; None for results of any form, and for other ones than objects."""
    schema = goal.definition.response_schema
    return schema if schema and schema.get("type") == "object" else None


_PLAN = Tool(
    name=PLAN_TOOL,
    description="Tells the state of a plan by its id: its result, or its open question.",
    input_schema={"type": "object", "properties": {PLAN_ID: {"type": "string"}}, "required": [PLAN_ID]},
)


def result_of(standing: Standing, link: str | None, *, has_output: bool) -> CallToolResult:
    """Return the result of a call: the plan's own, its failure, or its id to ask again.

    A result must fit its schema, and an open plan has none yet: with a schema, it is told as an error.
    """
    if standing.failure is not None:
        return _told(standing, standing.failure, None, is_error=True)
    if standing.is_over:
        result = standing.plan.result
        told: JsonObject = result if isinstance(result, dict) else {"result": result}
        return _told(standing, compact(told), told, is_error=False)
    open_: JsonObject = {PLAN_ID: standing.task_id, "status": standing.words}
    if standing.asked:
        asked = standing.asked[0]
        approvers: list[Json] = [*asked.approvers]
        open_ |= {"question": asked.message, "approvers": approvers, "answer_at": link}
    words = f"Not finished yet: {compact(open_)}. Ask again by the tool {PLAN_TOOL}, with this {PLAN_ID}."
    return _told(standing, words, open_, is_error=has_output)


def _told(standing: Standing, words: str, structured: JsonObject | None, *, is_error: bool) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=words)],
        structured_content=structured,
        is_error=is_error,
        _meta={META_PLAN_ID: standing.task_id},
    )


def form_of(wait: Wait) -> JsonObject | None:
    """Return the form of a plain question; None for one with roles, or with an answer beyond flat fields."""
    if wait.approvers:
        return None
    properties, required = wait.response_schema.get("properties"), wait.response_schema.get("required", [])
    if not isinstance(properties, dict) or not properties:
        return _WORDS if wait.response_schema.get("additionalProperties") is not False else None
    flat: JsonObject = {
        name: one for name, one in properties.items() if isinstance(one, dict) and one.get("type") in _FLAT
    }
    needed = required if isinstance(required, list) else []
    if not flat or not set(map(str, needed)) <= flat.keys():
        return None
    return {"type": "object", "properties": flat, "required": needed}


def request_of(wait: Wait, form: JsonObject | None, link: str) -> ElicitRequest:
    """Return the request for an answer: a form, or a link to the inbox."""
    words = wait.message or f"{wait.agent} asks for {wait.expected_event}"
    if wait.proposed_event is not None:
        words += f"\n{wait.proposed_event}: {compact(wait.proposed_data or {})}"
    if form is None:
        return ElicitRequest(params=ElicitRequestURLParams(message=words, url=link))
    return ElicitRequest(params=ElicitRequestFormParams(message=words, requested_schema=form))


def state_text(task_id: str, linked: Iterable[str]) -> str:
    """Return the state of a call between its rounds. It holds ids only, and each is checked anew."""
    ids: list[Json] = [*sorted(linked)]
    return compact({PLAN_ID: task_id, "linked": ids})


def read_state(text: str) -> tuple[str, frozenset[str]]:
    """Return the id and the linked questions of a state. Raise LocalProtocolError."""
    try:
        state = cast(Json, from_json(text))
    except ValueError:
        state = None
    if not isinstance(state, dict) or not isinstance(task_id := state.get(PLAN_ID), str):
        raise LocalProtocolError("requestState: give the state of the answer before")
    linked = state.get("linked")
    return task_id, frozenset(map(str, linked if isinstance(linked, list) else ()))
