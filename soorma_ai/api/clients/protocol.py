"""The calls of a program outside, however the platform is reached: in this process, or over HTTP.

What each call does and raises, its docstring in `soorma_ai.kernel.runtime.client` says.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from typing import Any, Protocol

from typing_extensions import TypeVar, Unpack

from soorma_ai.features.human_tasks.calls import InboxCalls
from soorma_ai.features.knowledge.records import About, Filter, Memo
from soorma_ai.kernel.domain.dead_letters import Letter
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Untaken, Wait
from soorma_ai.kernel.domain.history import SentPrompt
from soorma_ai.kernel.domain.memory import PlanSummary, SessionSummary
from soorma_ai.kernel.domain.people import AnswerOutcome
from soorma_ai.kernel.domain.plans import PlanDetails, PlanRecord, PlanStatus
from soorma_ai.kernel.domain.registry import DiscoveredAgent, Discovery, EventDefinition, RegisteredEvent
from soorma_ai.kernel.domain.tracking import (
    Action,
    Backlog,
    DelegationGroup,
    PlanNode,
    PlanPage,
    PlanProgress,
    TimelineEntry,
)
from soorma_ai.kernel.domain.values import Data, Json, JsonObject
from soorma_ai.kernel.ports import EventPage
from soorma_ai.kernel.rules.reports.trace import Trace

T = TypeVar("T", default=Json)


class PlanCalls(Protocol):
    """One plan to follow, as `submit` and `follow` return it."""

    @property
    def plan_id(self) -> str: ...

    @property
    def goal_id(self) -> str: ...

    async def status(self) -> PlanStatus: ...

    async def cancel(self, reason: str = "") -> bool: ...

    async def result(self, timeout: float | timedelta | None = None, *, as_: type[T] | None = None) -> T: ...

    def events(self) -> AsyncIterator[EventEnvelope]: ...

    async def next_wait(self, timeout: float | timedelta | None = ...) -> Wait | None: ...

    async def untaken(self) -> list[Untaken]: ...

    async def describe(self) -> str: ...


class MemoryCalls(Protocol):
    """The working memory of plans, and what outlives them."""

    async def retrieve(self, key: str, plan_id: str) -> Any: ...

    async def keys(self, plan_id: str) -> list[str]: ...

    async def store(self, key: str, value: Any, plan_id: str) -> None: ...

    async def delete(self, key: str, plan_id: str) -> bool: ...

    async def cleanup(self, plan_id: str) -> int: ...

    async def everything(self, plan_id: str) -> dict[str, Json]: ...

    async def get_plan_context(self, plan_id: str) -> JsonObject: ...

    async def get_plan_by_correlation(self, correlation_id: str) -> JsonObject: ...

    async def store_plan_context(self, plan_id: str, session_id: str | None, context: Mapping[str, Any]) -> None: ...

    async def get_task_context(self, task_id: str) -> JsonObject: ...

    async def get_task_by_subtask(self, sub_task_id: str) -> JsonObject: ...

    async def store_knowledge(
        self,
        content: str,
        *,
        key: str | None = None,
        shared: bool = False,
        user_id: str | None = None,
        **about: Unpack[About],
    ) -> str: ...

    async def get_knowledge(self, key: str, *, shared: bool = False, user_id: str | None = None) -> Memo | None: ...

    async def search_knowledge(
        self,
        query: str = "",
        *,
        limit: int = 10,
        shared: bool | None = None,
        user_id: str | None = None,
        **given: Unpack[Filter],
    ) -> list[Memo]: ...

    async def delete_knowledge(self, key: str, *, shared: bool = False, user_id: str | None = None) -> bool: ...

    async def log_interaction(
        self,
        agent: str,
        role: str,
        content: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        user_id: str | None = None,
    ) -> str: ...

    async def get_recent_history(self, agent: str, *, limit: int = 20, user_id: str | None = None) -> list[Memo]: ...

    async def search_interactions(
        self, agent: str, query: str, *, limit: int = 10, user_id: str | None = None
    ) -> list[Memo]: ...

    async def store_skill(
        self,
        name: str,
        text: str,
        *,
        when_to_use: str = "",
        agent: str = "",
        shared: bool = False,
        user_id: str | None = None,
    ) -> None: ...

    async def get_relevant_skills(
        self, context: str, *, agent: str = "", limit: int = 5, user_id: str | None = None
    ) -> list[Memo]: ...

    async def delete_skill(
        self, name: str, *, agent: str = "", shared: bool = False, user_id: str | None = None
    ) -> bool: ...


class RegistryCalls(Protocol):
    """Agents and their events."""

    async def find(self, capability: str) -> DiscoveredAgent | None: ...

    async def discover(self, requirements: Iterable[str], *, include_events: bool = True) -> Discovery: ...

    async def query(
        self,
        *,
        name: str | None = None,
        capability: str | None = None,
        event: str | None = None,
        topic: EventTopic | str | None = None,
        live: bool = True,
    ) -> list[DiscoveredAgent]: ...

    async def events(
        self,
        *,
        owner: str | None = None,
        name: str | None = None,
        topic: EventTopic | str | None = None,
        live: bool = True,
    ) -> list[RegisteredEvent]: ...

    async def get_event(
        self, event_name: str, version: str | None = None, *, topic: EventTopic | str | None = None
    ) -> EventDefinition | None: ...

    async def get_event_schema(
        self, event_name: str, version: str | None = None, *, topic: EventTopic | str | None = None
    ) -> JsonObject | None: ...

    async def backlogs(self) -> list[Backlog]: ...

    async def deregister(self, agent: str) -> list[EventDefinition]: ...


class TrackerCalls(Protocol):
    """The progress of plans."""

    async def plan_progress(self, plan_id: str) -> PlanProgress: ...

    async def actions(self, plan_id: str) -> list[Action]: ...

    async def timeline(self, plan_id: str) -> list[TimelineEntry]: ...

    async def plans(
        self,
        *,
        status: PlanStatus | str | None = None,
        session_id: str | None = None,
        search: str = "",
        before: int = 0,
        limit: int = 50,
    ) -> PlanPage: ...

    async def plan_tree(self, plan_id: str) -> PlanNode: ...

    async def session_plans(self, session_id: str, *, limit: int = 50) -> list[PlanSummary]: ...

    async def delegation_group(self, group_id: str) -> DelegationGroup: ...

    async def untaken(
        self, plan_id: str | None = None, *, task_id: str | None = None, limit: int = 50
    ) -> list[Untaken]: ...


class PlatformClient(Protocol):
    """Acts as one person of one tenant: what `platform.as_user(...)` and `AsyncClient(url)` have in common."""

    async def submit(
        self,
        goal: str,
        data: Data,
        *,
        session_id: str | None = None,
        idempotency_key: str | None = None,
        planner: str | None = None,
        approve: bool = False,
    ) -> PlanCalls: ...

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
        self,
        topic: EventTopic | str,
        event_type: str,
        data: Data,
        *,
        idempotency_key: str | None = None,
        correlation_id: str | None = None,
        plan_id: str | None = None,
        session_id: str | None = None,
        approve: bool = False,
    ) -> str: ...

    async def waits(self, *, limit: int = 50, plan_id: str | None = None) -> list[Wait]: ...

    async def wait(self, wait_id: str) -> Wait: ...

    async def answer(
        self,
        wait_id: str,
        payload: Mapping[str, Any],
        *,
        decision: str | None = None,
        note: str = "",
        answer_id: str | None = None,
    ) -> AnswerOutcome: ...

    async def cancel(self, plan_id: str, reason: str = ...) -> bool: ...

    async def resume(self, plan_id: str, data: Mapping[str, Any] | None = None, *, note: str = "") -> AnswerOutcome: ...

    async def resume_all(self, *, agent: str | None = None) -> list[str]: ...

    async def plans(
        self, *, status: PlanStatus | str | None = None, session_id: str | None = None, limit: int = 50
    ) -> list[PlanRecord]: ...

    async def plan(self, plan_id: str) -> PlanDetails: ...

    async def prompt(self, plan_id: str, decision: int | None = None) -> SentPrompt: ...

    async def trace(self, plan_id: str) -> Trace: ...

    async def follow(self, plan_id: str) -> PlanCalls: ...

    async def events(
        self, *, after: int = 0, limit: int = 100, plan_id: str | None = None, newest: bool = False
    ) -> EventPage: ...

    async def sessions(self, *, limit: int = 50) -> list[SessionSummary]: ...

    async def create_session(
        self, name: str | None = None, metadata: Mapping[str, Any] | None = None, *, session_id: str | None = None
    ) -> SessionSummary: ...

    async def dead_letters(self, *, limit: int = 50) -> list[Letter]: ...

    async def dead_letter(self, letter_id: int) -> Letter: ...

    async def redrive(self, letter_id: int) -> bool: ...

    async def discard(self, letter_id: int, note: str = "") -> bool: ...

    @property
    def memory(self) -> MemoryCalls:
        """The working memory of plans."""
        ...

    @property
    def registry(self) -> RegistryCalls:
        """Agents and events."""
        ...

    @property
    def inbox(self) -> InboxCalls:
        """What is done about questions, beside answering them."""
        ...

    @property
    def tracker(self) -> TrackerCalls:
        """How far plans are."""
        ...
