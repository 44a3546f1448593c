"""The samples of the A2A gateway: cards, tasks and answers in the printed forms, without a library."""

import pytest

from soorma_ai import AgentCapability, EventDefinition, EventEnvelope
from soorma_ai.gateways.a2a import (
    A2AAuthentication,
    A2AAuthType,
    A2AGatewayHelper,
    A2AMessage,
    A2APart,
    A2ATask,
    A2ATaskStatus,
)
from soorma_ai.kernel.domain.registry import AgentKind, Registration
from soorma_ai.kernel.domain.values import Json
from soorma_ai.testing.clock import VirtualClock

SCHEMA = {"type": "object", "properties": {"topic": {"type": "string"}}}
RESEARCH = AgentCapability(
    task_name="research",
    description="Finds out.",
    consumed_event=EventDefinition(event_name="research.requested", payload_schema=SCHEMA),
)
AUTH = A2AAuthentication(schemes=[A2AAuthType.API_KEY])
TASK = A2ATask(
    id="t1",
    sessionId="s1",
    message=A2AMessage(
        role="user", parts=[A2APart(type="text", text="please"), A2APart(type="data", data={"topic": "tea"})]
    ),
)


@pytest.mark.parametrize(("tenant", "organization"), [(None, "soorma"), ("acme", "acme")])
def test_an_agent_becomes_a_card(tenant: str | None, organization: str) -> None:
    agent = Registration(
        agent="researcher",
        kind=AgentKind.WORKER,
        description="Reads a lot.",
        version="2.0.0",
        tenant_id=tenant,
        capabilities=(RESEARCH, "singing"),
    )
    card = A2AGatewayHelper.agent_to_card(agent, "https://agents.example/a2a", AUTH)
    assert (card.name, card.description, card.version) == ("researcher", "Reads a lot.", "2.0.0")
    assert (card.url, card.provider) == ("https://agents.example/a2a", {"organization": organization})
    assert [(one.id, one.inputSchema) for one in card.skills] == [("research", SCHEMA), ("singing", None)]
    assert card.authentication.schemes == [A2AAuthType.API_KEY]


def test_a_task_becomes_a_request_and_its_reply_the_answer() -> None:
    event = A2AGatewayHelper.task_to_event(TASK, "research.requested", "research.completed")
    assert (event.type, event.topic, event.source) == ("research.requested", "action-requests", "gateway")
    assert event.data == {"text": "please", "topic": "tea"}
    assert (event.correlation_id, event.response_event, event.session_id) == ("t1", "research.completed", "s1")
    assert event == A2AGatewayHelper.task_to_event(TASK, "research.requested", "research.completed")


@pytest.mark.parametrize(
    ("data", "status", "said", "error"),
    [
        ({"success": True, "result": {"found": 3}}, A2ATaskStatus.COMPLETED, {"found": 3}, None),
        ({"success": True, "result": "tea"}, A2ATaskStatus.COMPLETED, {"result": "tea"}, None),
        ({"found": 3}, A2ATaskStatus.COMPLETED, {"found": 3}, None),
        ({"success": False, "error": {"code": "x", "message": "no tea"}}, A2ATaskStatus.FAILED, None, "no tea"),
        ({"success": False, "error": "no tea"}, A2ATaskStatus.FAILED, None, "no tea"),
        ({"success": False}, A2ATaskStatus.FAILED, None, "failed"),
    ],
)
def test_a_reply_becomes_a_completed_or_failed_response(
    data: dict[str, Json], status: A2ATaskStatus, said: Json, error: str | None, clock: VirtualClock
) -> None:
    reply = EventEnvelope(
        id="e1", source="researcher", type="research.completed", topic="action-results", time=clock.now(), data=data
    )
    answer = A2AGatewayHelper.event_to_response(reply, "t1")
    assert (answer.id, answer.status, answer.error) == ("t1", status, error)
    assert (answer.message.parts[0].data if answer.message else None) == said
