"""The shop of these tests: its agents, a model with a fixed route, and the effects outside of our transactions."""

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from soorma_ai import (
    Agent,
    Approval,
    ChoreographyPlanner,
    DelegationSpec,
    EventDefinition,
    GoalContext,
    InvocationContext,
    Limits,
    Planner,
    ResultContext,
    Retry,
    TaskContext,
    Tool,
    TransitionContext,
    Worker,
)
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.kernel.ports import ModelAnswer, ModelQuestion
from soorma_ai.testing.clock import VirtualClock

GOAL = "order.received"
CHILD_GOAL = "parcel.wanted"
GIFT_GOAL = "gift.wanted"
REPLIED = "carrier.confirmed"
PLAN_LASTS = timedelta(minutes=30)
PEOPLE_HAVE = timedelta(minutes=10)

PRINTING_TAKES = timedelta(seconds=20)
PACKING_TAKES_AT_MOST = timedelta(minutes=5)

# The request of each kind of decision. "wrong" is corrected in the re-ask.
ROUTE = {
    "reserve": "publish:inventory.reserve.requested",
    "wrong": "publish:inventory.reserve.requested",
    "send": "publish:parcel.send.requested",
    "print": "publish:label.print.requested",
    "pack": "publish:parcel.pack.requested",
    "charge": "publish:payment.charge.requested",
    "wait": "wait",
    "buy": f"delegate:buyer/{CHILD_GOAL}",
    "wrap": f"delegate:clerk/{GIFT_GOAL}",
}
STEP_OF = {
    "reserve": ("published", "inventory.reserve.requested"),
    "wrong": ("published", "inventory.reserve.requested"),
    "send": ("published", "parcel.send.requested"),
    "print": ("published", "label.print.requested"),
    "pack": ("published", "parcel.pack.requested"),
    "charge": ("held for approval", "payment.charge.requested"),
    "wait": ("asked", REPLIED),
    "buy": ("delegated", CHILD_GOAL),
    "wrap": ("delegated", GIFT_GOAL),
}
DECISIONS = ("published", "held for approval", "asked", "delegated")

ORDER = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
AMOUNT = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "amount": {"type": "number", "minimum": 0}},
    "required": ["order", "amount"],
    "additionalProperties": False,
}
SLOT = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "slot": {"type": "string"}},
    "required": ["order", "slot"],
}

_JOURNALLED = "SELECT 1 FROM journal WHERE json_extract(body, '$.value.reasoning') = ?"
_CLAIMS = (
    "SELECT inbox.fence, inbox.redriven FROM inbox JOIN event ON event.seq = event_seq WHERE agent = ? AND event.id = ?"
)
_ANSWERS = (
    "SELECT 1 FROM event WHERE topic = 'action-results' AND json_extract(body, '$.source') = ? "
    "AND json_extract(body, '$.causationid') = ?"
)

LIMITS = Limits(max_actions=3, max_llm_calls=9, deadline=PLAN_LASTS, max_repeats=None)


class World:
    """Counts outside effects, and records faults at once: `wrongs`."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.wrongs: list[str] = []
        self.asked: Counter[str] = Counter()
        self.asked_for: Counter[int] = Counter()
        self.effects: dict[str, Any] = {}  # by idempotency key, once for any number of runs
        self.runs: Counter[str] = Counter()
        self.runs_of_once: Counter[str] = Counter()
        self.look: Callable[..., list[Any]] | None = None
        self.is_overtaken = False  # two handlings of one delivery may run at once, one of them without its lease

    def act(self, request: InvocationContext, *, once: bool) -> None:
        """Record an outside effect. A service without keys repeats it with each run."""
        key, data = request.idempotency_key, dict(request.data)
        agent, _, event_id = key.partition(":")
        self.runs[key] += 1
        self.runs_of_once[event_id] += once
        if self.effects.setdefault(key, data) != data:
            self.wrongs.append(f"{key} was used for {self.effects[key]} and then for {data}")
        claims, redriven = next(iter(self._rows(_CLAIMS, agent, event_id)), (0, 0))
        if self.runs[key] > claims:
            self.wrongs.append(f"{key} was claimed {claims} times and run {self.runs[key]} times")
        if not redriven and self._rows(_ANSWERS, agent, event_id):
            self.wrongs.append(f"{key} was answered, and then handled again")

    def ask(self, name: str, order: int) -> None:
        self.asked[name] += 1
        self.asked_for[order] += 1
        if not self.is_overtaken and self._rows(
            "SELECT 1 FROM journal WHERE json_extract(body, '$.value.reasoning') = ?", name
        ):
            self.wrongs.append(f"a question whose answer is in the journal was asked again (order {order})")

    def _rows(self, query: str, *values: str) -> list[Any]:
        return [] if self.look is None else self.look(query, *values)


class RouteFollower:
    """The model. The goal holds the route; the history in its prompt shows its progress."""

    model = provider = "route"
    max_output_tokens = 200

    def __init__(self, world: World) -> None:
        self._world = world

    def check(self) -> None:
        return

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return 0.001

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        goal: dict[str, Any] = question.facts.goal
        name = hashlib.sha256(repr(question.messages).encode()).hexdigest()[:20]
        self._world.ask(name, goal["order"])
        value: Any = {"reasoning": name, "step": _step(goal, question)}
        return ModelAnswer(json.dumps(value), value, "", self.model, 100, 20, 0.001, 1.0)


def _step(goal: dict[str, Any], question: ModelQuestion) -> dict[str, Any]:
    offered, told, *again = (message.content for message in question.messages)
    is_asked_again = bool(again)
    lines = r"^step\d+: (?:You published (?!payment)|Your publish of|You delegated|You waited)"
    done = re.findall(lines, told, re.M)
    order, route = goal["order"], goal["route"]
    if len(done) >= len(route):
        return {"action": "complete", "result": {"order": order, "missing": ""}}
    kind = route[len(done)]
    action = ROUTE[kind]
    if f'"{action}":' not in offered and kind != "wait":
        return {"action": "complete", "result": {"order": order, "missing": kind}}
    match kind:
        case "wrong":
            return {"action": action, "data": {"order": order if is_asked_again else "many"}}
        case "charge" if is_asked_again:  # a person rejected just this
            return {"action": "complete", "result": {"order": order, "missing": kind}}
        case "charge":
            return {"action": action, "data": {"order": order, "amount": 100 * order}}
        case "wait":
            seconds = PEOPLE_HAVE.total_seconds()
            return {"action": "wait", "expected_event": REPLIED, "message": "Which slot?", "timeout_seconds": seconds}
        case "buy":
            return {"action": action, "data": {"order": order, "route": ["reserve"]}}
        case _:
            return {"action": action, "data": {"order": order}}


def agents(world: World, away: Sequence[str] = ()) -> list[Agent]:
    """Return the agents of a process, new for every process."""
    model = RouteFollower(world)
    replied = EventDefinition(
        event_name=REPLIED, topic="business-facts", payload_schema=SLOT, correlate={"/order": "goal_data.order"}
    )
    everybody: list[Agent] = [
        ChoreographyPlanner("orders", goals=[GOAL], external_events=[replied], reasoner=model, limits=LIMITS),
        ChoreographyPlanner("buyer", goals=[CHILD_GOAL], reasoner=model, limits=LIMITS),
        _tool(world, "stock", "inventory.reserve.requested", ORDER),
        _tool(world, "courier", "parcel.send.requested", ORDER, fails_first=True),
        _tool(world, "printer", "label.print.requested", ORDER, once=True),
        _clerk(),
        _packer(),
        _tool(world, "payments", "payment.charge.requested", AMOUNT, approval=Approval(timeout=PEOPLE_HAVE)),
    ]
    return [agent for agent in everybody if agent.name not in away]


def _clerk() -> Planner:
    """Return a planner without a model: it reserves the paper, pauses for a person's choice of a ribbon, and reports
    it."""
    clerk = Planner("clerk", goals=[GIFT_GOAL], limits=LIMITS)

    @clerk.on_goal(GIFT_GOAL)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await goal.dispatch("inventory.reserve.requested", {"order": goal.data["order"]})

    @clerk.on_transition()
    async def go_on(transition: TransitionContext, context: PlatformContext) -> None:
        plan = transition.plan
        if "asked" in plan.state:
            await plan.finalize({"ribbon": plan.results.get("user_input")})
        else:
            plan.state["asked"] = await plan.pause("Which ribbon?")

    return clerk


def _packer() -> Worker:
    """Return a worker with two parallel requests, one of them slow; it is done after both."""
    packer = Worker("packer")

    @packer.on_task("parcel.pack.requested", payload_schema=ORDER)
    async def pack(task: TaskContext, context: PlatformContext) -> None:
        asked = ("inventory.reserve.requested", "label.print.requested")
        parts = [DelegationSpec(event, task.data, "part.done") for event in asked]
        task.state["group"] = await task.delegate_parallel(parts, timeout=PACKING_TAKES_AT_MOST)

    @packer.on_result("part.done")
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        parts = await task.aggregate_parallel_results(task.state["group"])
        if parts is not None:
            await task.complete({"parts": len(parts)})

    return packer


def _tool(
    world: World, name: str, event: str, schema: Any, *, fails_first: bool = False, once: bool = False, **options: Any
) -> Tool:
    tool = Tool(name, effects="at_most_once" if once else "keyed")

    async def act(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await asyncio.sleep(0)
        world.act(request, once=once)
        # Time enough to die in the middle.
        await (world.clock.sleep(PRINTING_TAKES.total_seconds()) if once else asyncio.sleep(0))
        if fails_first and request.attempt == 1:
            raise Retry("the line is busy")
        return {"done_by": name}

    register: Callable[..., Any] = tool.on_invoke(event, payload_schema=schema, **options)
    register(act)
    return tool
