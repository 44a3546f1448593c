"""Forms of A2A in the seed documents, with the conversion of agents, tasks and replies.

They are older than the protocol's 1.0; the gateway speaks that beside them by its own library.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage, ReplyAddress, new_event
from soorma_ai.kernel.domain.registry import ANY_OBJECT, AgentCapability
from soorma_ai.kernel.domain.replies import content_of, is_failure
from soorma_ai.kernel.domain.values import Json, JsonObject, derived_id

GATEWAY = "gateway"
_EPOCH = datetime.fromtimestamp(0, UTC)


class A2AAuthType(StrEnum):
    API_KEY = "apiKey"
    OAUTH2 = "oauth2"
    NONE = "none"


class A2AAuthentication(BaseModel):
    """`credentials` is the URL where OAuth is described."""

    schemes: list[A2AAuthType]
    credentials: str | None = None


class A2ASkill(BaseModel):
    id: str
    name: str
    description: str
    tags: list[str] = Field(default_factory=list[str])
    inputSchema: JsonObject | None = None
    outputSchema: JsonObject | None = None


class A2AAgentCard(BaseModel):
    """`url` is the gateway's."""

    name: str
    description: str
    url: str
    version: str = "1.0.0"
    provider: dict[str, str] = Field(default_factory=dict[str, str])
    capabilities: dict[str, Any] = Field(default_factory=dict[str, Any])
    skills: list[A2ASkill] = Field(default_factory=list[A2ASkill])
    authentication: A2AAuthentication


class A2APart(BaseModel):
    type: Literal["text", "data", "file"]
    text: str | None = None
    data: JsonObject | None = None
    mimeType: str | None = None


class A2AMessage(BaseModel):
    role: Literal["user", "agent"]
    parts: list[A2APart]


class A2ATask(BaseModel):
    """A request from outside. Its id is its sender's, and is its key: the same id is the same task."""

    id: str = Field(min_length=1, max_length=200)
    sessionId: str | None = Field(None, min_length=1, max_length=200)
    message: A2AMessage
    metadata: JsonObject | None = None


class A2ATaskStatus(StrEnum):
    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


class A2ATaskResponse(BaseModel):
    id: str
    sessionId: str | None = None
    status: A2ATaskStatus
    message: A2AMessage | None = None
    error: str | None = None


class AgentDescription(Protocol):
    """An agent as the registry tells of it: a `Registration`, or a `DiscoveredAgent`."""

    @property
    def description(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def capabilities(self) -> Sequence[AgentCapability | str]: ...


class A2AGatewayHelper:
    """Conversion of an agent, a request and a reply into the forms of the seed documents."""

    @staticmethod
    def agent_to_card(agent: AgentDescription, gateway_url: str, auth: A2AAuthentication) -> A2AAgentCard:
        """Return the card of an agent: each of its capabilities, described or only named, is a skill."""
        tenant = getattr(agent, "tenant_id", None)
        return A2AAgentCard(
            name=str(getattr(agent, "name", None) or getattr(agent, "agent", "")),
            description=agent.description,
            url=gateway_url,
            version=agent.version or "1.0.0",
            provider={"organization": str(tenant) if tenant else "soorma"},
            capabilities={"streaming": False, "pushNotifications": False},
            skills=[_skill(one) for one in agent.capabilities],
            authentication=auth,
        )

    @staticmethod
    def task_to_event(
        task: A2ATask, event_type: str, response_event: str, *, time: datetime | None = None
    ) -> EventEnvelope:
        """Return the request of a task. Its words are `text` of the data, its data parts are the rest. The same task is
        the same event; without a time of its own, by its time too."""
        return new_event(
            Lineage(session_id=task.sessionId),
            event_id=derived_id("a2a", task.id, event_type),
            source=GATEWAY,
            topic=EventTopic.ACTION_REQUESTS,
            type=event_type,
            data=data_of(task.message),
            time=time or _EPOCH,
            reply_to=ReplyAddress(task.id, response_event),
        )

    @staticmethod
    def event_to_response(event: EventEnvelope, task_id: str) -> A2ATaskResponse:
        """Return the response for a task's reply."""
        content = content_of(event.data)
        if is_failure(event.data):
            return A2ATaskResponse(id=task_id, status=A2ATaskStatus.FAILED, error=_words(content))
        return A2ATaskResponse(id=task_id, status=A2ATaskStatus.COMPLETED, message=message_of_agent(content))


def data_of(message: A2AMessage) -> JsonObject:
    data: JsonObject = {}
    for part in message.parts:
        if part.type == "text" and part.text is not None:
            data["text"] = part.text
        elif part.type == "data":
            data.update(part.data or {})
    return data


def message_of_agent(content: Json) -> A2AMessage:
    """Return content as a message. Anything but an object is data under the name `result`."""
    data: JsonObject = content if isinstance(content, dict) else {"result": content}
    return A2AMessage(role="agent", parts=[A2APart(type="data", data=data)])


def _words(error: Json) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return str(said or "failed")


def _skill(capability: AgentCapability | str) -> A2ASkill:
    if isinstance(capability, str):
        return A2ASkill(id=capability, name=capability, description="")
    schema = capability.consumed_event.payload_schema
    return A2ASkill(
        id=capability.task_name,
        name=capability.task_name,
        description=capability.description,
        inputSchema=None if schema == ANY_OBJECT else schema,
        outputSchema=capability.result_schema,
    )
