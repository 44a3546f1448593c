"""Journey of the present plan: its phases, its decisions in them, its events for people."""

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.adapters.extraction import parse_holds
from soorma_ai.features.phases.export import BRIEF, MESSAGES, STANDING, move_key, moves_in, work_key, works_in
from soorma_ai.features.phases.records import (
    CHECKPOINT_ANSWERED,
    AgentThinkingEvent,
    Checkpoint,
    CheckpointEvent,
    CheckpointKind,
    JourneyState,
    OpenTransition,
    PhaseChangedEvent,
    PhaseTransition,
    SSEEvent,
)
from soorma_ai.features.phases.rules import (
    PhaseGraph,
    answer_schema,
    begin_in,
    count_actions,
    keep_message,
    move_on,
    narrow_offer,
    read_journey_state,
    record_of,
    tell_messages,
    texts_in,
    untold,
    write_journey_state,
)
from soorma_ai.kernel.domain.decisions import AcceptedDecision, requests_in
from soorma_ai.kernel.domain.effects import PlanChange, Publish
from soorma_ai.kernel.domain.events import EventTopic, caused_id, new_event
from soorma_ai.kernel.domain.history import CONDITION, REASK, StepKind
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.replies import ExpectedReply, Failure
from soorma_ai.kernel.domain.schemas import describe
from soorma_ai.kernel.domain.values import Json, JsonObject, derived_id, digest
from soorma_ai.kernel.rules.choices.form import digest_of
from soorma_ai.kernel.rules.decisions.prompt import Inputs
from soorma_ai.kernel.rules.plans.carry_out import PlanTerms, carry_out
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.lifecycle import complete
from soorma_ai.kernel.rules.plans.requests import PlanQuestion, ask, park
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.plans.turns import enters_phase
from soorma_ai.kernel.rules.prompting.fence import fence
from soorma_ai.kernel.rules.schemas.portable import object_schema
from soorma_ai.kernel.rules.waits.opening import first_opened
from soorma_ai.kernel.rules.waits.wakeups import PHASE_ENTERED, wake_plan
from soorma_ai.kernel.runtime.handling.check_ahead import check
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.planning.ask_model import Inquiry, ask_model
from soorma_ai.kernel.runtime.planning.decide import Check, StepQuestion, decide, offer_now
from soorma_ai.kernel.runtime.planning.planner import PlanParked
from soorma_ai.kernel.runtime.planning.settings import PlannerSettings
from soorma_ai.kernel.runtime.planning.turn import fail_plan

_HOLDS = object_schema({"reasoning": {"type": "string"}, "holds": {"type": "boolean"}, "detail": {"type": "string"}})


class PhaseFrame(Struct, frozen=True):
    """Frame of a phase: the names of its events, and the schema of its work. `check` refuses a work."""

    prompt: str
    tools: tuple[str, ...]
    schema: JsonObject
    custom: JsonObject = field(default_factory=dict[str, Json])
    most_actions: int | None = None
    terms: PlanTerms = field(default_factory=PlanTerms)
    check: Check | None = None


class JourneyInHand:
    """Journey of a plan with its values read. Everything of it is a row by key: see the constants."""

    def __init__(self, handling: Handling, graph: PhaseGraph) -> None:
        self.handling = handling
        self.graph = graph
        self._told = 0

    @property
    def rows(self) -> dict[str, Json]:
        return self.handling.values.phases

    @property
    def plan(self) -> PlanRecord:
        return self.handling.plan

    @property
    def has_begun(self) -> bool:
        return STANDING in self.rows

    @property
    def journey_state(self) -> JourneyState:
        return read_journey_state(self.rows[STANDING])

    @journey_state.setter
    def journey_state(self, standing: JourneyState) -> None:
        self.rows[STANDING] = write_journey_state(standing)
        if self.plan.current_state != standing.phase:
            self.handling.apply(PlanChange(replace(self.plan, current_state=standing.phase)))

    def begin(self, brief: Json, restored: Mapping[str, Json] | None = None) -> None:
        """Begin in the first phase; with rows that were exported before, where those stand."""
        self.rows.update(restored or {})
        self.rows[BRIEF] = brief
        self.journey_state = self.journey_state if self.has_begun else begin_in(self.graph.initial)

    @property
    def place(self) -> str:
        """Return the phase and its visit: a decision in another one does not count here."""
        standing = self.journey_state
        return f"{standing.phase} {standing.visit}: "

    @property
    def moves(self) -> list[JsonObject]:
        return moves_in(self.rows)

    def works_of(self, phase: str) -> dict[int, Json]:
        """Return the results of a phase's visits, by their numbers."""
        return works_in(self.rows, phase)

    @property
    def work(self) -> Json:
        """Return the result of this visit; None before it."""
        standing = self.journey_state
        return self.works_of(standing.phase).get(standing.visit)

    @property
    def messages(self) -> list[Json]:
        kept = self.rows.get(MESSAGES)
        return kept if isinstance(kept, list) else []

    def keep_message(self, text: str) -> None:
        self.rows[MESSAGES] = keep_message(self.messages, text)

    def hear_messages(self) -> list[str]:
        """Return people's messages since the last move; they count as shown by now."""
        if self.messages:
            self.rows[MESSAGES] = tell_messages(self.messages)
        return texts_in(self.messages)

    async def say(self, event: SSEEvent) -> None:
        """Send an event to people: at once, or with all other effects. An event sent at once has the same id in every
        handling, so the store and every reader drop a second one."""
        topic, lineage = EventTopic.PLAN_EVENTS, self.plan.lineage
        if not event.leaves_at_once:
            told = self.handling.moment().event(lineage, topic, event.type, event.data)
            self.handling.record(Publish(told))
            return
        self.handling.must_be_open()
        services, cause = self.handling.services, self.handling.event
        named = derived_id(caused_id(cause.id, self.handling.agent, self._told, event.type), digest(event.data))
        self._told += 1
        now = services.clock.now()
        told = new_event(
            lineage,
            event_id=named,
            source=self.handling.agent,
            topic=topic,
            type=event.type,
            data=event.data,
            time=now,
            causation_id=cause.id,
        )
        await services.store.queue.send([told], None, now, delivery=self.handling.delivery)

    async def decide(self, settings: PlannerSettings, frame: PhaseFrame, trigger: Trigger) -> AcceptedDecision:
        """Ask the model for one step of the phase. Raise PlanParked without a taker for the phase's requests, else as
        `decide` does."""
        handling, settings = self.handling, replace(settings, instructions=_join(settings.instructions, frame.prompt))
        offer = narrow_offer(await offer_now(handling, settings), frame.tools, frame.schema)
        if frame.tools and offer.is_empty:
            handling.apply(park(self.plan, handling.moment(), *frame.tools))
            raise PlanParked
        custom, said = dict(frame.custom), self.hear_messages()
        if said:
            custom["messages"] = [*said]
        question = StepQuestion(replace(trigger, place=self.place), custom, check=frame.check)
        return await decide(handling, settings, offer, question)

    async def carry_out(self, frame: PhaseFrame, judged: AcceptedDecision, trigger: Trigger) -> None:
        """Carry out the decision, unless it ends the phase. Raise LimitExceeded."""
        handling = self.handling
        asked = len(requests_in(judged.decision))
        if asked:
            self.journey_state = count_actions(self.journey_state, asked, frame.most_actions)
        going = move(self.plan, StatusTrigger.GO, handling.services.clock.now())
        placed, open_now = replace(trigger, place=self.place), handling.open_now
        moment = handling.moment()
        handling.apply(carry_out(going, judged, placed, open_now, moment, frame.terms))

    def keep_work(self, work: Json) -> None:
        """Keep the result of this visit, and as the last of its phase among the plan's results."""
        standing = self.journey_state
        self.rows[work_key(standing.phase, standing.visit)] = work
        self.handling.values.results[standing.phase] = work

    async def ask_condition(
        self, settings: PlannerSettings, transition: PhaseTransition, custom: JsonObject
    ) -> tuple[bool, str]:
        """Ask the model whether a condition holds, and for the details of the next work."""
        said, standing = self.hear_messages(), self.journey_state
        inputs: JsonObject = {
            "agent": self.plan.agent,
            "question": transition.question,
            "phase": standing.phase,
            "to_phase": transition.to_phase.value,
            "work": fence(self.work),
            "context": fence(custom) if custom else "",
            "messages": fence([*said]) if said else "",
        }
        prompt = self.handling.services.prompts.render(CONDITION, inputs)
        inquiry = Inquiry(prompt, Inputs(inputs), REASK, _HOLDS, digest_of(_HOLDS), _judge_condition)
        return await ask_model(self.handling, settings.must_have_model(), inquiry, self.plan.payer)

    async def move(self, leading: OpenTransition, most_visits: Mapping[str, int | None]) -> None:
        """Go to the next phase. Earlier messages of people are shown no more. Raise LimitExceeded."""
        handling, before = self.handling, self.journey_state
        entered = move_on(before, leading, most_visits)
        record = record_of(before, leading, handling.services.clock.now())
        self.rows[move_key(entered.moves)] = record
        if self.messages:
            self.rows[MESSAGES] = untold(self.messages)
        detail = f" ({leading.detail})" if leading.detail else ""
        words = f"You went {'back ' if leading.is_backward else ''}from {before.phase} to {entered.phase}: "
        note = f"{words}{leading.reason}, decided by {leading.decided_by}{detail}"
        handling.apply(append_step(self.plan, StepKind.MOVED, handling.moment(), name=entered.phase, note=note))
        self.journey_state = entered
        changed = PhaseChangedEvent(
            from_phase=before.phase,
            to_phase=entered.phase,
            is_backward=leading.is_backward,
            reason=leading.reason,
            detail=leading.detail,
            decided_by=leading.decided_by,
            visit=entered.visit,
        )
        await self.say(changed)
        if entered.phase != self.graph.complete:
            # It begins when people have seen that it is entered.
            wakes = wake_plan(PHASE_ENTERED, self.plan, handling.services.clock.now())
            handling.record(Publish(wakes.model_copy(update={"id": derived_id(wakes.id, str(entered.moves))})))

    async def tell_return(self) -> None:
        """Say, when a phase begins again, why."""
        standing = self.journey_state
        if enters_phase(self.handling.event) and standing.is_back:
            detail = f" ({standing.detail})" if standing.detail else ""
            await self.say(AgentThinkingEvent(message=f"Returning to {standing.phase}: {standing.reason}{detail}"))

    async def stop_at(self, checkpoint: Checkpoint, leading: OpenTransition) -> None:
        """Show people a checkpoint, and wait for their answer if its kind waits."""
        asked: PlanChange | None = None
        if checkpoint.waits:
            is_optional = checkpoint.kind is CheckpointKind.OPTIONAL
            question = PlanQuestion(
                ExpectedReply(CHECKPOINT_ANSWERED, timeout=checkpoint.timeout),
                f"checkpoint:{checkpoint.id}",
                checkpoint.message,
                answer_schema(checkpoint.changes),
                {**checkpoint.about, "checkpoint_id": checkpoint.id, "options": [*checkpoint.options]},
                by_answer=True,
                approvers=checkpoint.approvers,
                on_expiry=AnswerDecision.APPROVE if is_optional else AnswerDecision.REJECT,
            )
            asked = self._ask(question)
            self.journey_state = replace(self.journey_state, checkpoint=first_opened(asked.effects).id, leading=leading)
        shown = CheckpointEvent(
            checkpoint_id=checkpoint.id,
            message=checkpoint.message,
            options=checkpoint.options,
            requires_approval=checkpoint.kind is CheckpointKind.BLOCKING,
            kind=checkpoint.kind,
            phase=self.journey_state.phase,
            wait_id=first_opened(asked.effects).id if asked else None,
            about=checkpoint.about,
        )
        await self.say(shown)
        if asked is not None:
            self.handling.apply(asked)

    def pass_checkpoint(self) -> OpenTransition:
        """Return the transition that waited for it."""
        standing = self.journey_state
        self.journey_state = replace(standing, checkpoint=None, leading=None)
        assert standing.leading is not None
        return standing.leading

    def listen(self, message_event: str) -> None:
        """Wait for a person's message: nothing leads on from this phase by itself."""
        schema = object_schema({"text": {"type": "string"}})
        words = f"Nothing leads on from {self.journey_state.phase}. What is to be done?"
        question = PlanQuestion(ExpectedReply(message_event), "message_wanted", words, schema, from_clients=True)
        self.handling.apply(self._ask(question))

    async def finish(self, summary: Json, schema: JsonObject | None, complete_event: SSEEvent) -> None:
        """End the plan with this summary as its answer, or fail it for a goal with another promised result."""
        handling = self.handling
        if faults := await check(self.plan.lineage.tenant_id, schema, summary):
            said = f"the summary does not match the goal's response schema: {describe(faults)}"
            await fail_plan(handling, Failure("payload_mismatch", said))
            return
        await self.say(complete_event)
        handling.apply(complete(self.plan, summary, handling.open_now, handling.moment()))

    async def has_new_waits(self, before: set[str]) -> bool:
        """Tell whether the plan waits for something that it did not wait for before."""
        return any(one.id not in before for one in self.handling.open_now)

    def _ask(self, question: PlanQuestion) -> PlanChange:
        return ask(self.plan, question, (), self.handling.moment())


async def _judge_condition(value: Json, fault: str) -> tuple[bool, str]:
    return parse_holds(value, fault)


def _join(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
