"""Kit of the store's contract tests: records with every field, and short ways to act."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

from msgspec.structs import replace

from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.knowledge.records import DropMemo, KeepMemo
from soorma_ai.kernel.domain.effects import Ack, Disposition, Effect, Expect, Publish, SavePlan, SaveTask
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.history import JournalEntry, JournalKey, Step, StepKind, Verdict
from soorma_ai.kernel.domain.limits import Charge, Limits
from soorma_ai.kernel.domain.memory import AppendMemory, DropMemory, IncrementMemory, OpenSession, StoreMemory
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Ask
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, Registration, Subscription
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import Delivery, Settlement, Store, Work

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
LEASE = timedelta(seconds=30)
_numbers = count(1)
# The agent of incidental handlings, and the type of its events.
HAND = "hand"
S = TypeVar("S", bound=Store)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@dataclass(frozen=True)
class Backend:
    """One way to keep a store. `make` gives another store over the same data, if the data last."""

    name: str
    make: Callable[[], Store]


def event(
    event_id: str,
    type: str = "work.asked",
    topic: EventTopic = EventTopic.ACTION_REQUESTS,
    *,
    source: str = "outside",
    data: Mapping[str, Json] | None = None,
    tenant: str = "default",
    correlation_id: str | None = None,
    plan_id: str | None = None,
    root_plan_id: str | None = None,
) -> EventEnvelope:
    return EventEnvelope(
        id=event_id,
        type=type,
        topic=topic,
        source=source,
        time=NOW,
        data=dict(data or {}),
        tenant_id=tenant,
        correlation_id=correlation_id,
        plan_id=plan_id,
        root_plan_id=root_plan_id,
    )


def fact(
    event_id: str,
    data: Mapping[str, Json] | None = None,
    *,
    source: str = "shop",
    tenant: str = "default",
    plan_id: str | None = None,
) -> EventEnvelope:
    """An event from outside, fit to meet a wait."""
    return event(
        event_id, "order.paid", EventTopic.BUSINESS_FACTS, source=source, data=data, tenant=tenant, plan_id=plan_id
    )


def reply(
    event_id: str, to: str, *, source: str = SYSTEM, tenant: str = "default", data: Mapping[str, Json] | None = None
) -> EventEnvelope:
    """A reply that counts: of the platform, if no agent is given."""
    topic = EventTopic.ACTION_RESULTS
    return event(event_id, "work.done", topic, source=source, correlation_id=to, tenant=tenant, data=data)


def agent(
    name: str = "worker",
    *takes: str,
    tenant: str | None = None,
    topic: EventTopic = EventTopic.ACTION_REQUESTS,
    events: tuple[tuple[EventRole, EventDefinition], ...] = (),
    description: str = "",
) -> Registration:
    return Registration(
        agent=name,
        kind=AgentKind.WORKER,
        description=description,
        tenant_id=tenant,
        events=events,
        subscriptions=tuple(Subscription(topic, event_type) for event_type in takes),
    )


def planner(name: str = "planner", goal: str = "goal.given", tenant: str | None = None) -> Registration:
    goal_event = (EventRole.TAKES_AS_GOAL, EventDefinition(event_name=goal))
    return agent(name, goal, tenant=tenant, events=(goal_event,))


PAID = EventDefinition(
    event_name="order.paid", topic=EventTopic.BUSINESS_FACTS, correlate={"/order_id": "goal_data.order_id"}
)
PAID_KEY = 'data:order.paid:{"goal_data.order_id":"o-1"}'


def awaiting_payment(name: str = "planner") -> Registration:
    return agent(name, events=((EventRole.AWAITS, PAID),))


def plan(plan_id: str = "plan-1", **changes: Any) -> PlanRecord:
    tenant = str(changes.pop("tenant", "default"))
    root = str(changes.pop("root_plan_id", plan_id))
    made = PlanRecord(
        plan_id=plan_id,
        agent="planner",
        agent_version="1.0.0",
        status=PlanStatus.RUNNING,
        goal_id=f"goal-of-{plan_id}",
        goal_event="goal.given",
        goal_data={"order_id": "o-1"},
        lineage=Lineage(tenant_id=tenant, plan_id=plan_id, root_plan_id=root),
        limits=Limits(),
        created_at=NOW,
        updated_at=NOW,
        root_plan_id=root,
    )
    return replace(made, **changes)


def step(ordinal: int, plan_id: str = "plan-1", **more: Any) -> Step:
    return Step(plan_id, ordinal, StepKind.PUBLISHED, NOW, name="work.asked", **more)


def expectation(expectation_id: str, kind: ExpectationKind = ExpectationKind.REPLY, **changes: Any) -> Expectation:
    made = Expectation(
        id=expectation_id,
        kind=kind,
        agent="planner",
        tenant_id="default",
        plan_id="plan-1",
        root_plan_id="plan-1",
        event_type="work.done",
        event_topic=EventTopic.ACTION_RESULTS,
        opened_at=NOW,
        deadline=later(3600),
        subject="work.asked",
    )
    return replace(made, **changes)


def wait(expectation_id: str, **changes: Any) -> Expectation:
    """A wait for a payment of order o-1, or for a person's word."""
    given: dict[str, Any] = {
        "event_type": "order.paid",
        "event_topic": EventTopic.BUSINESS_FACTS,
        "keys": (PAID_KEY, f"reply:{expectation_id}"),
        "ask": question(),
    }
    return expectation(expectation_id, ExpectationKind.WAIT, **(given | changes))


def gate(expectation_id: str, **changes: Any) -> Expectation:
    return replace(wait(expectation_id, **changes), kind=ExpectationKind.GATE)


def question(schema: JsonObject | None = None, approvers: tuple[str, ...] = ()) -> Ask:
    return Ask(
        reason="money",
        message="Is it paid?",
        response_schema=schema or {"type": "object"},
        allowed_decisions=(AnswerDecision.APPROVE, AnswerDecision.REJECT, AnswerDecision.RESPOND),
        approvers=approvers,
    )


def answer(answer_id: str, decision: AnswerDecision = AnswerDecision.APPROVE, user: str = "ann") -> Answer:
    return Answer(answer_id, {"approved": decision is AnswerDecision.APPROVE}, decision, user, NOW)


def entry(ordinal: int = 0, *, cause: str = "event-1", plan_id: str = "plan-1", raw: str = "{}") -> JournalEntry:
    return JournalEntry(
        key=JournalKey("planner", cause, ordinal),
        plan_id=plan_id,
        root_plan_id="plan-1",
        prompt_id="decide",
        prompt_version="1",
        prompt_hash="abc",
        offer_digest="def",
        model="scripted",
        raw=raw,
        value={},
        fault="",
        verdict=Verdict.ACCEPTED,
        refusal="",
        prompt_tokens=10,
        completion_tokens=5,
        cost_usd=0.25,
        latency_ms=12.5,
        at=NOW,
        cached_tokens=4,
    )


@asynccontextmanager
async def open_store(store: S, at: datetime = NOW) -> AsyncGenerator[S]:
    await store.open(at)
    yield store
    await store.close()


async def claim_all(store: Store, name: str = "worker", *, limit: int = 100, now: datetime = NOW) -> list[Delivery]:
    return await store.queue.claim(name, now, LEASE, limit)


async def in_line(store: Store, *event_ids: str) -> None:
    """Let these events arrive for a worker."""
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event(event_id) for event_id in event_ids], NOW)


async def in_hand(store: Store, *event_ids: str) -> list[Delivery]:
    """Let these events arrive for a worker, and claim them."""
    await in_line(store, *event_ids)
    return await claim_all(store)


async def let_replies_arrive(store: Store, *numbers: int) -> None:
    """Let the replies of one plan to as many requests arrive, in this order."""
    await save_running_plan(store, *(expectation(f"q-{n}") for n in sorted(numbers)))
    await store.queue.arrive([reply(f"r-{n}", f"q-{n}") for n in numbers], NOW)


async def drain(store: Store, name: str = "planner") -> list[str]:
    """End one delivery after the other, and return the ids of their events."""
    seen: list[str] = []
    while deliveries := await claim_all(store, name):
        (delivery,) = deliveries
        assert await claim_all(store, name) == [], "one at a time for one owner"
        seen.append(delivery.event.id)
        await end(store, delivery)
    return seen


async def find(store: Store, expectation_id: str) -> Expectation:
    """Return an existing expectation."""
    found = await store.plans.expectation(expectation_id)
    assert found is not None
    return found


async def find_plan(store: Store, plan_id: str = "plan-1") -> PlanRecord:
    """Return an existing plan."""
    found = await store.plans.plan(plan_id)
    assert found is not None
    return found


async def state_of(store: Store, plan_id: str = "plan-1", event_id: str = "") -> PlanState:
    """Return the state of an existing plan."""
    found = await store.plans.state(plan_id, event_id)
    assert found is not None
    return found


async def hold_delivery(store: Store, event_id: str = "", tenant: str = "default") -> Delivery:
    """Return a delivery in hand, of an event and an agent outside of every test."""
    event_id = event_id or f"{HAND}-{next(_numbers)}"
    if await store.registry.agent(HAND, NOW) is None:
        await store.registry.register([agent(HAND, HAND)], NOW)
    await store.queue.arrive([event(event_id, HAND, tenant=tenant)], NOW)
    (delivery,) = await claim_all(store, HAND, limit=1)
    return delivery


async def do(store: Store, *effects: Effect, now: datetime = NOW) -> None:
    """Apply effects by a handling for each of their tenants."""
    tenants = dict.fromkeys(tenant for effect in effects if (tenant := _tenant_of(effect))) or ["default"]
    for tenant in tenants:
        own = tuple(effect for effect in effects if _tenant_of(effect) in ("", tenant))
        await store.queue.commit(Work(await hold_delivery(store, tenant=tenant), Ack(), own), now)


def _tenant_of(effect: Effect) -> str:
    match effect:
        case Publish(event):
            return event.tenant_id
        case SavePlan(plan):
            return plan.lineage.tenant_id
        case SaveTask(task):
            return task.lineage.tenant_id
        case Expect(expectation):
            return expectation.tenant_id
        case StoreMemory(at) | DropMemory(at) | IncrementMemory(at) | AppendMemory(at):
            return at.tenant_id
        case OpenSession(tenant_id):
            return tenant_id
        case KeepMemo(memo):
            return memo.shelf.tenant_id
        case DropMemo(shelf):
            return shelf.tenant_id
        case _:
            return ""


async def reserve(store: Store, charge: Charge, limits: Limits) -> None:
    """Reserve a call by a handling."""
    await store.plans.reserve(charge, limits, await _handed_for(store, charge.root_plan_id))


async def settle(store: Store, one: Settlement) -> None:
    await store.plans.settle(one, await _handed_for(store, one.reserved.root_plan_id))


async def _handed_for(store: Store, plan_id: str) -> Delivery:
    """One in the tenant of this plan, if there is such a plan."""
    found = await store.plans.plan(plan_id)
    return await hold_delivery(store, tenant=found.lineage.tenant_id if found else "default")


async def end(store: Store, delivery: Delivery, how: Disposition | None = None, now: datetime = NOW) -> None:
    await store.queue.commit(Work(delivery, how or Ack(), ()), now)


async def save_running_plan(store: Store, *expected: Expectation, plan_id: str = "plan-1") -> None:
    """Save a plan with these open expectations."""
    await do(store, SavePlan(plan(plan_id), None), *(Expect(one) for one in expected))


async def redrive(store: Store, seq: int) -> bool:
    """Redrive a letter right after a read of it."""
    row = await store.part(LETTERS).dead_letter(seq)
    assert row is not None
    return await store.part(LETTERS).redrive(row)


async def unsent_ids(store: Store) -> list[str]:
    return [stored.event.id for stored in await store.queue.unsent(1000)]


class FreeHands:
    """Free hands of agents, and the deliveries put into them."""

    def __init__(self, **free: int) -> None:
        self.free = Counter(free)
        self.held: list[Delivery] = []
        self.queued: list[str] = []

    def take(self, agent: str, *, freed: bool = False) -> bool:
        if self.free[agent] + freed <= 0:
            return False
        self.free[agent] -= 1
        return True

    def give_back(self, agent: str) -> None:
        self.free[agent] += 1

    def start(self, delivery: Delivery) -> None:
        self.held.append(delivery)

    def note_queued(self, agent: str) -> None:
        self.queued.append(agent)

    def note_claim(self, agent: str, found: int) -> None: ...

    def ids(self) -> list[str]:
        return [delivery.event.id for delivery in self.held]
