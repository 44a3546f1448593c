"""Goals from other protocols: their offer, their payload from a person's words, their begin, and their state before
and after it."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from typing_extensions import Unpack

from soorma_ai.errors import Held, LocalProtocolError
from soorma_ai.kernel.domain.call_options import SubmitOptions
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus, Wait
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.plans import PlanRecord, plan_id_of
from soorma_ai.kernel.domain.registry import EventRole, RegisteredEvent
from soorma_ai.kernel.domain.values import JsonObject, digest
from soorma_ai.kernel.rules.plans.lifecycle import before_it_began
from soorma_ai.kernel.rules.waits.gates import gate_id
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services

WORDS = "text"


async def shown_events(services: Services, tenant_id: str) -> Sequence[RegisteredEvent]:
    """Return the events of present agents, for a card or a list of tools. A gone agent's goal can still be given."""
    return await services.store.registry.live_events(tenant_id, services.clock.now())


async def known_events(services: Services, tenant_id: str) -> Sequence[RegisteredEvent]:
    """Return the events of all registered agents, present or gone, for the goal of a call."""
    return await services.store.registry.all_events(tenant_id)


def offered_goals(known: Iterable[RegisteredEvent], only: Collection[str] | None) -> list[RegisteredEvent]:
    """Return the goals among registered events by name and planner, all of them or `only` those of these names."""
    found = (one for one in known if one.role is EventRole.TAKES_AS_GOAL)
    wanted = [one for one in found if only is None or one.definition.event_name in only]
    return sorted(wanted, key=lambda one: (one.definition.event_name, one.agent))


def payload_of(words: str, data: JsonObject, schema: JsonObject, cure: str) -> JsonObject:
    """Return the payload for a schema: the data, with the words in their field.

    Raise LocalProtocolError for words without a field, with the `cure`, and for a field with other data.
    """
    if not words:
        return data
    field = _field_of_words(schema)
    if field is None:
        if data:
            raise LocalProtocolError("the text has no field beside the data: leave it out, or put it into the data")
        raise LocalProtocolError(f"text alone is not enough here: {cure}")
    if data.get(field, words) != words:
        raise LocalProtocolError(f"the text and the data both give {field!r}: leave one of them out")
    return {field: words, **data}


class BegunGoal(Struct, frozen=True):
    """Goal of a call. `is_held`: people approve it before its plan begins, or have rejected it."""

    goal_id: str
    plan_id: str
    is_held: bool = False

    @property
    def task_id(self) -> str:
        """The id of the plan, or of the goal for a held one."""
        return self.goal_id if self.is_held else self.plan_id


async def begin_goal(client: Client, goal: str, payload: JsonObject, **options: Unpack[SubmitOptions]) -> BegunGoal:
    """Submit a goal, or find the one of this key and payload, even a rejected one. Raise as `submit` does, but for
    Held."""
    key = options.get("idempotency_key")
    if key is not None:
        gate = await client.services.store.plans.expectation(gate_id(client.event_id(goal, key)))
        if gate is not None and rejection_of(gate) is not None and _holds(gate, payload):
            return _held_goal(gate)
    try:
        plan = await client.submit(goal, payload, **options)
    except Held as held:
        gate = await client.services.store.plans.expectation(gate_id(held.request_id))
        if gate is None or not _holds(gate, payload):
            raise
        return _held_goal(gate)
    return BegunGoal(plan.goal_id, plan.plan_id)


def _holds(gate: Expectation, payload: JsonObject) -> bool:
    sent = request_of(gate)
    return sent is not None and sent.target is not None and digest(sent.data) == digest(payload)


def _held_goal(gate: Expectation) -> BegunGoal:
    sent = request_of(gate)
    assert sent is not None and sent.target is not None, f"{gate.id} holds a goal"
    return BegunGoal(sent.id, plan_id_of(sent.id, sent.target), is_held=True)


class GoalState(Struct, frozen=True):
    """State of a goal: its plan, or a pending one in its place; the open questions; and the reason of a refusal."""

    plan: PlanRecord
    asked: tuple[Expectation, ...] = ()
    rejected: str | None = None

    @property
    def waits(self) -> tuple[Wait, ...]:
        return tuple(wait for one in self.asked if (wait := Wait.of(one)))


async def state_of_plan(client: Client, plan: PlanRecord) -> GoalState:
    """Return the state of a plan that began: a root has the questions of its tree, a child its own."""
    if plan.status.is_final:
        return GoalState(plan)
    is_root = plan.plan_id == plan.root_plan_id
    found = await client.services.store.plans.open_in_tree(plan.root_plan_id)
    return GoalState(plan, tuple(one for one in found if is_root or one.plan_id == plan.plan_id))


async def state_of_held(client: Client, sent: EventEnvelope, planner: str, gate: Expectation) -> GoalState:
    """Return the state of a goal with an approval by people."""
    begun = await client.services.store.plans.plan(plan_id_of(sent.id, planner))
    if begun is not None:
        return await state_of_plan(client, begun)
    plan = before_it_began(sent, planner)
    if gate.status is ExpectationStatus.OPEN:
        return GoalState(plan, (gate,))
    return GoalState(plan, rejected=rejection_of(gate))


def request_of(gate: Expectation | None) -> EventEnvelope | None:
    """Return the request of a gate, open or closed, as it was made."""
    return gate.ask.proposal.request if gate and gate.ask and gate.ask.proposal else None


def rejection_of(gate: Expectation) -> str | None:
    """Return the reason of a goal's refusal; None without one."""
    if gate.answer is None:
        waited = gate.status is ExpectationStatus.EXPIRED and gate.ask is not None
        silence = gate.ask.on_expiry if gate.ask else AnswerDecision.REJECT
        return "it was not approved in time" if waited and silence is AnswerDecision.REJECT else None
    if gate.answer.decision in (AnswerDecision.APPROVE, AnswerDecision.EDIT):
        return None
    said = gate.answer.note or gate.answer.payload.get("note")
    return f"rejected by {gate.answer.by}" + (f": {said}" if said else "")


def _field_of_words(schema: JsonObject) -> str | None:
    """Return `text` if the schema allows it, else the only text field: the only required one, if there is one."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return None if schema.get("additionalProperties") is False else WORDS
    texts = [name for name, one in properties.items() if isinstance(one, dict) and one.get("type") == "string"]
    listed = schema.get("required")
    required = listed if isinstance(listed, list) else []
    if WORDS in texts:
        return WORDS
    for some in ([name for name in texts if name in required], texts):
        if len(some) == 1:
            return some[0]
    return None
