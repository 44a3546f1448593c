"""Questions as forms, and the state between the rounds of a call, as tables."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai import LocalProtocolError, Wait
from soorma_ai.gateways.mcp.goals import form_of, read_state, request_of, state_text
from soorma_ai.kernel.domain.people import AnswerDecision

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
YES = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
NESTED = {"type": "object", "properties": {"address": {"type": "object"}, "name": {"type": "string"}}}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": []}

WAIT = Wait(
    wait_id="w1",
    plan_id="p1",
    agent="orders",
    tenant_id="shop",
    reason="clarification",
    message="For whom?",
    expected_event="user.replied",
    response_schema={"type": "object"},
    allowed_decisions=(AnswerDecision.RESPOND,),
    approvers=(),
    opened_at=datetime(2030, 1, 1, tzinfo=UTC),
    deadline=None,
    on_expiry=AnswerDecision.REJECT,
    proposed_event=None,
    proposed_data=None,
    digest=None,
)


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        ({"type": "object"}, TEXT),
        (YES, YES),
        (NESTED, NAME),
        (NESTED | {"required": ["address"]}, None),
        ({"type": "object", "properties": {"address": {"type": "object"}}}, None),
        ({"type": "object", "additionalProperties": False}, None),
    ],
)
def test_a_question_with_flat_fields_is_a_form(schema: Any, form: Any) -> None:
    assert form_of(replace(WAIT, response_schema=schema)) == form


def test_a_question_for_a_role_is_a_link() -> None:
    asked = replace(WAIT, response_schema=YES, approvers=("boss",))
    form = form_of(asked)
    told = request_of(asked, form, "https://shop.example/inbox/w1").params
    assert form is None and told.model_dump()["url"] == "https://shop.example/inbox/w1"


def test_the_state_of_a_call_is_read_as_it_was_written() -> None:
    assert read_state(state_text("p1", {"w2", "w1"})) == ("p1", frozenset({"w1", "w2"}))


@pytest.mark.parametrize("text", ["", "p1", "[]", "{}", '{"plan_id": 7}', "[" * 5_000])
def test_a_foreign_state_of_a_call_is_refused(text: str) -> None:
    with pytest.raises(LocalProtocolError, match="requestState"):
        read_state(text)
