"""The surroundings of a plan: agents with scripted answers to its events, and the person for its questions."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from actions import HELP_EVENT
from material import GOAL_EVENT, Event, Payload, Plan
from scripted import planner_of

from soorma_ai import (
    Agent,
    ChoreographyPlanner,
    EventDefinition,
    EventEnvelope,
    EventTopic,
    Limits,
    PlanFailed,
    PlanHandle,
    PlatformContext,
    Reject,
    SoormaError,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.local_client import LocalClient

GOAL = EventDefinition(
    event_name=GOAL_EVENT,
    description="A customer wants something.",
    payload_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    response_schema={
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
        "additionalProperties": False,
    },
)
HELP = EventDefinition(
    event_name=HELP_EVENT,
    description="A part of a customer's wish, for the helper.",
    payload_schema=GOAL.payload_schema,
    response_schema=GOAL.response_schema,
)
REPLIED = EventDefinition(
    event_name="user.replied",
    topic=EventTopic.BUSINESS_FACTS,
    description="The customer said something.",
    payload_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
HUMAN_INPUT = "notification.human_input"
PATIENCE, PATIENCE_PER_STEP = 60.0, 10.0


@dataclass(frozen=True)
class PlanReply:
    """The reply to the plan's caller. `reason` is set for a failure."""

    result: Any = None
    reason: str = ""


@dataclass
class World:
    """The k-th request of the plan gets the k-th answer of its script, however often it is delivered; its questions
    too. Requests published together may come in any order. `model` has the planner's model options, `helpers_model` its
    helper's. Of its budgets only the actions are tested: wrong answers use up calls and tokens."""

    plan: Plan
    model: dict[str, Any]
    helpers_model: dict[str, Any] = field(default_factory=dict[str, Any])
    surprises: list[str] = field(default_factory=list[str])
    _answered: dict[str, Payload] = field(default_factory=dict[str, Payload])

    def __post_init__(self) -> None:
        self._requests = self.plan.requests
        self._is_over = asyncio.Event()
        self._questions: Iterator[Payload] = iter(self.plan.questions)

    @property
    def patience(self) -> float:
        return PATIENCE + PATIENCE_PER_STEP * len(self.plan.steps)

    def agents(self) -> list[Agent]:
        """Return the planner, its helper, a tool for the work of assistants, and a worker for each other kind of
        agent."""
        planners = [self._planner(self.plan, GOAL, external_events=[REPLIED], **self.model)]
        if helper := self.plan.helper:
            planners.append(self._planner(helper, HELP, **self.helpers_model))
        actors = sorted({event.actor for event in self.plan.events.values()})
        return [*planners, *(self._agent(actor) for actor in actors)]

    def _planner(self, plan: Plan, goal: EventDefinition, **options: Any) -> ChoreographyPlanner:
        return ChoreographyPlanner(
            planner_of(plan),
            goals=[goal],
            system_instructions=plan.instructions,
            limits=Limits(max_actions=plan.max_actions, max_llm_calls=None, max_tokens=None),
            tenant_id=self.plan.id,
            **options,
        )

    def _agent(self, actor: str) -> Agent:
        events = [event for event in self.plan.events.values() if event.actor == actor]
        name = f"{actor} of {self.plan.id}"
        if actor == "assistant":
            tool = Tool(name, tenant_id=self.plan.id)
            for event in events:
                tool.on_invoke(event.name, **_registered(event))(self._invoked)
            return tool
        worker = Worker(name, tenant_id=self.plan.id)
        for event in events:
            worker.on_task(event.name, **_registered(event))(self._tasked)
        return worker

    async def _invoked(self, request: Any, context: PlatformContext) -> Any:
        step = await self._scripted(request.request_id, request.event_type, request.data)
        if step["error"]:
            raise Reject(_text(step["result"]))
        return step["result"]

    async def _tasked(self, task: TaskContext, context: PlatformContext) -> None:
        step = await self._scripted(task.task_id, task.event_type, task.data)
        if step["error"]:
            await task.fail(_text(step["result"]))
        else:
            await task.complete(step["result"])

    async def _scripted(self, request_id: str, event_type: str, data: Payload) -> Payload:
        if request_id not in self._answered:
            self._answered[request_id] = self._take(event_type, data)
        step = self._answered[request_id]
        if step["event"] != event_type:
            self.surprises.append(f"{event_type} was requested, where the script has {step['event']}")
            raise Reject(f"nobody expected {event_type}")
        if step.get("is_silent"):
            await self._is_over.wait()
        return step

    def _take(self, event_type: str, data: Payload) -> Payload:
        """Take the first request with this data, else the next one."""
        at = next((at for at, step in enumerate(self._requests) if _is_asked(step, event_type, data)), 0)
        return self._requests.pop(at) if self._requests else {"event": "nothing more"}

    def _is_silent_about(self, event_type: str, data: Payload) -> bool:
        """Tell whether this proposal stays undecided."""
        silent = [step for step in self.plan.requests if step.get("is_silent")]
        return any(_is_asked(step, event_type, data) for step in silent)

    @property
    def _known(self) -> set[str]:
        """Return the events open to requests."""
        return {*self.plan.events, GOAL_EVENT, *([HELP_EVENT] if self.plan.helper else [])}

    async def live(self, client: LocalClient) -> PlanReply:
        """Submit the goal, answer as the person until the plan's end, and return its outcome."""
        handle = await client.submit(GOAL.event_name, {"text": self.plan.goal})
        try:
            return await self._live(client, handle)
        finally:
            self._is_over.set()

    async def _live(self, client: LocalClient, handle: PlanHandle) -> PlanReply:
        try:
            async with asyncio.timeout(self.patience):
                async for event in handle.events():
                    await self._see(event, client, handle)
            return PlanReply(result=await handle.result(timeout=5))
        except PlanFailed as failed:
            return PlanReply(reason=failed.reason)
        except TimeoutError:
            self.surprises.append(f"no end after {self.patience:.0f} s")
            with suppress(SoormaError):
                await client.cancel(handle.plan_id, "it takes too long")
            return PlanReply(reason="no end")

    async def _see(self, event: EventEnvelope, client: LocalClient, handle: PlanHandle) -> None:
        if event.type == HUMAN_INPUT:
            await self._answer(str(event.data["wait_id"]), client, handle)
        elif event.topic is EventTopic.ACTION_REQUESTS and event.type not in self._known:
            self.surprises.append(f"{event.type} was requested, which nobody here takes")
            await client.cancel(handle.plan_id, "nobody will ever answer")

    async def _answer(self, wait_id: str, client: LocalClient, handle: PlanHandle) -> None:
        """Approve every proposal: the platform has to keep back invalid events."""
        asked = next((wait for wait in await client.waits() if wait.wait_id == wait_id), None)
        if asked is None:
            self.surprises.append("a wait was announced that is not open")
        elif asked.proposed_event is not None:
            if self._is_silent_about(asked.proposed_event, asked.proposed_data or {}):
                return
            if not await self._say(client, wait_id, {"approved": True}, decision="approve"):
                await client.cancel(handle.plan_id, "its proposal cannot be approved")
        else:
            question = next(self._questions, {"answer": {"text": "I have nothing more to say."}})
            await self._say(client, wait_id, question["answer"])

    async def _say(self, client: LocalClient, wait_id: str, payload: Payload, **how: str) -> bool:
        """Answer, and tell whether it counts."""
        outcome = await client.answer(wait_id, payload, **how)
        if outcome != "accepted":
            self.surprises.append(f"the answer {payload} was {outcome}: {outcome.detail}")
        return outcome == "accepted"


def bystanders(events: Sequence[Event], number: int) -> list[Agent]:
    """Return a number of agents of all tenants; together they take these events, and never answer."""
    return [_bystander(f"bystander {first}", events[first::number]) for first in range(number) if events[first::number]]


def _bystander(name: str, events: Sequence[Event]) -> Tool:
    tool = Tool(name)
    for event in events:
        tool.on_invoke(event.name, **_registered(event))(_stay_silent)
    return tool


async def _stay_silent(request: Any, context: PlatformContext) -> None:
    await asyncio.Event().wait()


def _is_asked(step: Payload, event_type: str, data: Payload) -> bool:
    return step["event"] == event_type and _without_nulls(step["data"]) == _without_nulls(data)


def _without_nulls(data: Payload) -> Payload:
    return {name: value for name, value in data.items() if value is not None}


def _registered(event: Event) -> dict[str, Any]:
    return {
        "description": event.description,
        "payload_schema": event.schema,
        "approval": "always" if event.needs_approval else None,
    }


def _text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result)
