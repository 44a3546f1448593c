"""The work during a storm: orders by a model's decisions, parcels by a state machine, and labels for clients.

An order is reserved by a worker with a request to the shelf, its payment is held for approval and charged, a person is
asked for a slot. A parcel is weighed, a person confirms it, it is booked. Each has a name for all its rows and effects.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from soorma_ai import (
    ChoreographyPlanner,
    GoalContext,
    InvocationContext,
    Limits,
    PlanContext,
    Planner,
    PlatformContext,
    ResultContext,
    StateAction,
    StateConfig,
    StateTransition,
    TaskContext,
    Tool,
    Wait,
    Worker,
)
from soorma_ai.agents.agent import Agent
from soorma_ai.kernel.ports import ModelAnswer, ModelQuestion

GOALS = {"order": "order.received", "parcel": "parcel.received"}
LABEL = "label.print.requested"
AGENTS = 8
# The outside effects of each kind.
EFFECTS = {"order": ("reserve", "charge"), "parcel": ("weigh", "book"), "label": ("label",)}
NAME = re.compile(r"(?:order|parcel|label)-\d{6}")

# In the time of a platform with a hurried clock; no deadline may end any of it.
PATIENCE = 500_000
# An innocent delivery may be in hand at many kills.
ATTEMPTS = 30
_NAMED: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

Effect = Callable[..., None]


def name_of(kind: str, number: int) -> str:
    return f"{kind}-{number:06}"


class Decider:
    """A model with decisions computed from its prompt."""

    model = provider = "soak"
    max_output_tokens = 500

    def check(self) -> None:
        return

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return 0.001

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        value: dict[str, Any] = {"reasoning": "as always", "step": _step(question.messages[-1].content)}
        return ModelAnswer(json.dumps(value), value, "", self.model, 100, 20, 0.001, 1.0)


def _step(told: str) -> dict[str, Any]:
    found = NAME.search(told)
    assert found is not None
    if "user.replied" in told:
        return {"action": "complete", "result": {"name": found[0], "is_paid": True}}
    if "You published payment.charge.requested" in told:
        message = "Which slot?"
        return {"action": "wait", "expected_event": "user.replied", "message": message, "timeout_seconds": PATIENCE}
    if "You published inventory.reserve.requested" in told:
        return {"action": "publish:payment.charge.requested", "data": {"name": found[0]}}
    return {"action": "publish:inventory.reserve.requested", "data": {"name": found[0]}}


def planners() -> list[Agent]:
    orders = ChoreographyPlanner(
        "orders",
        goals=[GOALS["order"]],
        external_events=["user.replied"],
        reasoner=Decider(),
        limits=Limits(max_repeats=None),
    )
    parcels = Planner("parcels")

    @parcels.on_goal(GOALS["parcel"], attempts=ATTEMPTS)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=_machine())
        await plan.execute_next()

    return [orders, parcels]


def _machine() -> dict[str, StateConfig]:
    name = {"name": "{goal_data.name}"}
    states = [
        StateConfig(state_name="start", default_next="weighing"),
        _state("weighing", "parcel.weigh", "parcel.weighed", name, "asking"),
        _state("asking", "notification.human_input", "user.confirmed", {"question": "Is it yours?"}, "booking"),
        _state("booking", "parcel.book", "parcel.booked", name, "done"),
        StateConfig(state_name="done", is_terminal=True, result="{results.booking.name}"),
    ]
    return {state.state_name: state for state in states}


def _state(name: str, asked: str, answer: str, data: dict[str, Any], then: str) -> StateConfig:
    is_question = asked.startswith("notification")
    action = StateAction(
        event_type=asked if is_question else f"{asked}.requested",
        response_event=answer,
        data=data,
        timeout_seconds=PATIENCE if is_question else None,
    )
    return StateConfig(state_name=name, action=action, transitions=(StateTransition(on_event=answer, to_state=then),))


def workers(effect: Effect) -> list[Agent]:
    return [_stock(), *(_tool(name, asked, done, effect, held) for name, asked, done, held in _TOOLS)]


# Name, request, outside effect, and whether it is held for approval.
_TOOLS = (
    ("shelf", "shelf.take.requested", "reserve", False),
    ("payments", "payment.charge.requested", "charge", True),
    ("scale", "parcel.weigh.requested", "weigh", False),
    ("carrier", "parcel.book.requested", "book", False),
    ("labels", LABEL, "label", False),
)


def _tool(name: str, asked: str, done: str, effect: Effect, is_held: bool) -> Tool:
    tool = Tool(name)

    @tool.on_invoke(asked, payload_schema=_NAMED, approval="always" if is_held else None, attempts=ATTEMPTS)
    async def do(request: InvocationContext[Any], context: PlatformContext) -> dict[str, Any]:
        effect(done, request.idempotency_key, what=request.data["name"])
        return {"name": request.data["name"]}

    return tool


def _stock() -> Worker:
    stock = Worker("stock")

    @stock.on_task("inventory.reserve.requested", payload_schema=_NAMED, attempts=ATTEMPTS)
    async def reserve(task: TaskContext[Any], context: PlatformContext) -> None:
        task.state["name"] = task.data["name"]
        await task.delegate("shelf.take.requested", {"name": task.data["name"]}, "shelf.taken")

    @stock.on_result("shelf.taken", attempts=ATTEMPTS)
    async def finish(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        await context.memory.increment("reserved")
        await task.complete({"reserved": task.state["name"]})

    return stock


def answer_to(wait: Wait) -> dict[str, Any]:
    return {"approved": True} if wait.proposed_event is not None else {"text": "Tuesday"}
