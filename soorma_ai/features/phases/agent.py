"""Agent with phases: it returns to earlier phases, stops at checkpoints, and streams its thoughts."""

from abc import ABC
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from enum import Enum
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from msgspec.structs import replace
from pydantic import BaseModel
from typing_extensions import Unpack

from soorma_ai.agents.planner_options import PlannerOptions
from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.features.phases.contexts import take_rows, tell_journey_state
from soorma_ai.features.phases.export import BRIEF, export, read_state
from soorma_ai.features.phases.flow import PhaseFlow
from soorma_ai.features.phases.journey import Journey
from soorma_ai.features.phases.records import BasePhaseContext, JourneyDesignBrief, TransitionRecord
from soorma_ai.features.phases.rules import MOST_VISITS, check_graph, name_of, read_journey_state
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.history import REENTRY, STEP
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import Json, JsonObject, digest, json_object
from soorma_ai.kernel.rules.prompting.fence import fence
from soorma_ai.kernel.rules.prompting.outline import shorten
from soorma_ai.kernel.runtime.flow import Route
from soorma_ai.kernel.runtime.handling.handling import current_handling

WORK_CHARS = 8_000

# A question of the model to a person, where a phase's tools name it.
PERSON_REPLIED = EventDefinition(
    event_name="person.replied",
    topic=EventTopic.NOTIFICATION_EVENTS,
    description="A person answers the question that `message` asks.",
    payload_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


class PhaseOptions(PlannerOptions, total=False, extra_items=Any):
    """Options of a `PhaseAgent`, beside those of every planner."""

    max_visits: int | Mapping[str, int | None] | None
    """Most visits of each phase, or by the phases' values; 10 by default, None for no bound."""
    max_actions_per_phase: Mapping[str, int]
    """Most requests of one visit, by the phases' values."""


class PhaseAgent(PhaseFlow, ABC):
    """Agent for the phases of a graph, each with its prompt and its tools; one plan is one journey.

    A subclass gives its `Phase` enum, `phase_transitions`, `initial_phase` and `complete_phase`, and the run of a
    phase, mostly by `decide_and_act`. Journeys begin with an event of `goals`, by default "<name>.wanted", with a
    `brief` in its data. For the options see `PhaseOptions`; without a model, none is needed. `message_event` carries a
    person's messages to a journey. In a handler, `current_phase`, `journey_brief`, `transition_history`, `visits_in`
    and `max_actions_in` are those of the present journey.
    """

    prompt_id: ClassVar[str | None] = STEP
    prompts: ClassVar[str] = ""

    def __init__(self, name: str, description: str = "", **options: Unpack[PhaseOptions]) -> None:
        max_visits = options.pop("max_visits", MOST_VISITS)
        self.max_actions_in = options.pop("max_actions_per_phase", None) or {}
        options.setdefault("goals", [f"{name}.wanted"])
        options["external_events"] = [PERSON_REPLIED, *options.get("external_events", ())]
        super().__init__(name, description, **options)
        check_graph(self.graph)
        self.message_event = f"{name}.message"
        self.visits_in = max_visits if isinstance(max_visits, Mapping) else dict.fromkeys(self.graph.phases, max_visits)
        known = {*self.visits_in, *self.max_actions_in} - {*self.graph.phases}
        if known:
            raise ConfigError(
                f"{name} limits {', '.join(sorted(known))}; its phases are {', '.join(self.graph.phases)}"
            )
        self._hands = WeakKeyDictionary()
        self._followed: Journey | None = None
        self.on_event(self.message_event, EventTopic.NOTIFICATION_EVENTS)(self._take_message)

    async def initialize(
        self,
        journey_brief: JourneyDesignBrief | BaseModel | Mapping[str, Any],
        client: KernelCalls | None = None,
        *,
        session_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Journey:
        """Begin a journey, and follow it: `process_message` and `get_state` belong to this one from now on. Raise as
        `submit` does.

        Args:
            journey_brief: the brief of the journey.
            client: the client of the person; by default the agent's own platform.
            session_id: the conversation of the journey.
            idempotency_key: the same key begins one journey.
        """
        given = journey_brief.model_dump(mode="json") if isinstance(journey_brief, BaseModel) else journey_brief
        client = self._client_or_own(client)
        data = {BRIEF: json_object("the brief of a journey", given)}
        plan = await client.submit(
            self._goal, data, session_id=session_id, idempotency_key=idempotency_key, planner=self.agent_id
        )
        self._followed = Journey(client, plan, self.message_event)
        return self._followed

    async def process_message(
        self, message: str = "", context: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[EventEnvelope]:
        """Send a `message` to the followed journey, with the decision of a checkpoint in `context`, and yield its
        events; see `Journey.process_message`."""
        async with aclosing(self._journey.process_message(message, context)) as events:
            async for event in events:
                yield event

    def get_state(self) -> JsonObject:
        """Return the state of the present journey; outside of a handling, the last known state of the followed one."""
        rows, plan_id = self._rows
        return export(rows, self.agent_type, plan_id)

    async def restore_state(self, state: Mapping[str, Any], client: KernelCalls | None = None) -> Journey:
        """Follow the journey of an exported `state`, by the `client` of the person. If its plan is gone, a new plan
        continues it; repeated imports of one state share this plan. Raise LocalProtocolError for a state useless to
        this agent."""
        given, client = json_object("the state", state), self._client_or_own(client)
        plan_id = given.get("plan_id")
        if isinstance(plan_id, str):
            try:
                status = (await client.plan(plan_id)).status
            except NotFound:
                status = PlanStatus.FAILED
            if not status.is_final or status is PlanStatus.COMPLETED:
                self._followed = Journey(client, await client.follow(plan_id), self.message_event)
                await self._followed.load()
                return self._followed
        take_rows(self._create_phase_context(), read_state(given, self.agent_type, self.graph))
        mode = given.get("mode_data")
        brief = mode.get(BRIEF) if isinstance(mode, dict) else None
        plan = await client.submit(
            self._goal, {BRIEF: brief, "restored": given}, idempotency_key=digest(given), planner=self.agent_id
        )
        self._followed = Journey(client, plan, self.message_event)
        return self._followed

    @property
    def current_phase(self) -> Enum:
        return self.Phase(read_journey_state(self._rows[0]["standing"]).phase)

    @property
    def phase_context(self) -> BasePhaseContext:
        """Return the agent's knowledge of the present journey, a working copy; outside of a handling, of the followed
        one."""
        if self._is_in_hand:
            return self._turn.context
        context, rows = self._create_phase_context(), self._rows[0]
        take_rows(context, rows)
        tell_journey_state(context, read_journey_state(rows["standing"]), rows, self.Phase)
        return context

    @property
    def transition_history(self) -> list[TransitionRecord]:
        return self.phase_context.transition_history

    @property
    def journey_brief(self) -> Json:
        return self._rows[0].get(BRIEF)

    @property
    def current_work(self) -> Json:
        """Return the result of the present visit; None before there is one."""
        return self._turn.journey.work

    def _get_phase_work(self, phase: Enum) -> Json:
        """Return the results of a phase's earlier visits, by their numbers, large ones shortened."""
        standing = self._turn.journey.journey_state
        works = self._turn.journey.works_of(name_of(phase))
        return shorten({f"visit {n}": work for n, work in works.items() if n < standing.visit}, WORK_CHARS)

    def _get_initial_prompt(self, phase: Enum) -> str:
        """Return the prompt of a first visit: the file of the phase's name in the folder `prompts`."""
        return self._render(f"{self.prompts}/{name_of(phase).lower()}") if self.prompts else ""

    def _get_reentry_prompt(
        self, phase: Enum, visit_count: int, trigger: str | None = None, existing_work: Json = None
    ) -> str:
        """Return the prompt of a later visit: the phase, the reason of the return with its details, and the finished
        work, not to be redone. Text of people and models stands between fences."""
        standing = self._turn.journey.journey_state
        given = {
            "phase": name_of(phase),
            "visit": visit_count,
            "backward_trigger": trigger or standing.reason,
            "backward_trigger_detail": fence(standing.detail) if standing.detail else "none",
            "existing_work_summary": fence(self._get_phase_work(phase) if existing_work is None else existing_work),
        }
        return self._render(REENTRY, **given)

    def _render(self, prompt_id: str, **inputs: object) -> str:
        """Return the `text` of a prompt file."""
        return self._turn.journey.handling.services.prompts.render(prompt_id, inputs).parts["text"]

    def routes(self) -> Sequence[Route]:
        failing = self._engine.fail
        return [replace(one, failed=self._fail) if one.failed == failing else one for one in super().routes()]

    @property
    def _goal(self) -> str:
        return next(iter(self.goals))

    @property
    def _is_in_hand(self) -> bool:
        handling = current_handling()
        return handling is not None and handling in self._hands

    @property
    def _journey(self) -> Journey:
        if self._followed is None:
            raise LocalProtocolError("no journey is followed; begin one with `await agent.initialize(brief)`")
        return self._followed

    @property
    def _rows(self) -> tuple[Mapping[str, Json], str]:
        if self._is_in_hand:
            return self._turn.journey.rows, self._turn.journey.plan.plan_id
        if not self._journey.rows:
            raise LocalProtocolError("the journey was not looked at yet; `await journey.load()`, or process a message")
        return self._journey.rows, self._journey.plan_id

    def _client_or_own(self, client: KernelCalls | None) -> KernelCalls:
        if client is not None:
            return client
        if self._services is None:
            raise LocalProtocolError(f"{self.name} is started on no platform; give client=")
        from soorma_ai.kernel.runtime.client.client import Client

        return Client(self._services, Person())
