"""Calls of the kernel. Written by `make clients`; do not edit."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Protocol

from typing_extensions import Unpack

from soorma_ai.api.clients.protocol import PlanCalls
from soorma_ai.kernel.domain.call_options import PublishOptions, SubmitOptions
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Topic
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.parameters import Agent, Id, Name, Note
from soorma_ai.kernel.domain.people import AnswerOutcome, Person
from soorma_ai.kernel.domain.plans import PlanDetails, PlanRecord, Status
from soorma_ai.kernel.domain.registry import Backlog, DiscoveredAgent, Discovery, EventDefinition, RegisteredEvent
from soorma_ai.kernel.domain.values import Data, JsonObject
from soorma_ai.kernel.ports import EventPage


class RegistryCalls(Protocol):
    """Agents and their events."""

    async def find(self, capability: str) -> DiscoveredAgent | None: ...

    async def discover(self, requirements: Iterable[str], *, include_events: bool = True) -> Discovery: ...

    async def query(
        self,
        *,
        name: Name | None = None,
        capability: Name | None = None,
        event: Name | None = None,
        topic: Topic | None = None,
        live: bool = True,
    ) -> list[DiscoveredAgent]: ...

    async def events(
        self, *, owner: Name | None = None, name: Name | None = None, topic: Topic | None = None, live: bool = True
    ) -> list[RegisteredEvent]: ...

    async def get_event(
        self, event_name: Name, version: Name | None = None, *, topic: Topic | None = None
    ) -> EventDefinition | None: ...

    async def get_event_schema(
        self, event_name: Name, version: Name | None = None, *, topic: Topic | None = None
    ) -> JsonObject | None: ...

    async def backlogs(self) -> list[Backlog]: ...

    async def deregister(self, agent: Agent) -> list[EventDefinition]: ...


class KernelCalls(Protocol):
    """Calls of the kernel, as one person of one tenant."""

    async def submit(self, goal: str, data: Data, **options: Unpack[SubmitOptions]) -> PlanCalls: ...

    async def cancel(self, plan_id: Id, reason: Note = ...) -> bool: ...

    async def resume(self, plan_id: str, data: Mapping[str, Any] | None = None, *, note: str = "") -> AnswerOutcome: ...

    async def resume_all(self, *, agent: str | None = None) -> list[str]: ...

    async def plans(
        self, *, status: Status | None = None, session_id: Id | None = None, limit: int = 50
    ) -> list[PlanRecord]: ...

    async def plan(self, plan_id: Id) -> PlanDetails: ...

    async def follow(self, plan_id: str) -> PlanCalls: ...

    async def request(
        self,
        event_type: str,
        data: Data,
        *,
        timeout: float | timedelta = ...,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        approve: bool = False,
    ) -> JsonObject: ...

    async def ask(
        self,
        event_type: str,
        data: Data,
        *,
        timeout: float | timedelta = ...,
        idempotency_key: str | None = None,
        session_id: str | None = None,
        approve: bool = False,
    ) -> str: ...

    async def reply(self, request_id: str, *, timeout: float | timedelta = ...) -> JsonObject: ...

    async def publish(
        self, topic: EventTopic | str, event_type: str, data: Data, **options: Unpack[PublishOptions]
    ) -> str: ...

    async def events(
        self, *, after: int = 0, limit: int = 100, plan_id: str | None = None, newest: bool = False
    ) -> EventPage: ...

    async def find_events(self, beginning: Id) -> list[EventEnvelope]: ...

    async def waits(self, *, limit: int = 50, plan_id: Id | None = None) -> list[Wait]: ...

    async def wait(self, wait_id: Id) -> Wait: ...

    async def find_waits(self, beginning: Id) -> list[Wait]: ...

    async def whoami(self) -> Person: ...

    async def answer(
        self,
        wait_id: str,
        payload: Mapping[str, Any],
        *,
        decision: str | None = None,
        note: str = "",
        answer_id: str | None = None,
    ) -> AnswerOutcome: ...

    @property
    def registry(self) -> RegistryCalls:
        """Calls about agents and events."""
        ...
