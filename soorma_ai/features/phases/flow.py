"""One handling of a phase agent: the event is taken in, the phase goes on, its end leads to the next."""

from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping
from contextlib import aclosing
from datetime import timedelta
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

from soorma_ai.agents.contexts.plan import PlanContext
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.tool import Tool
from soorma_ai.errors import Forbidden, LocalProtocolError, NotAllowed, RemoteProtocolError, Retry
from soorma_ai.features.phases import engine
from soorma_ai.features.phases.contexts import rows_of, take_rows, tell_journey_state
from soorma_ai.features.phases.export import BRIEF, CONTEXT, read_state
from soorma_ai.features.phases.hooks import JourneyTurn, PhaseHooks, PhaseTool
from soorma_ai.features.phases.records import (
    MESSAGE_KEPT,
    AgentCompleteEvent,
    AgentSpeakingEvent,
    AgentThinkingEvent,
    DecidedBy,
    ErrorEvent,
    OpenTransition,
    PhaseTransition,
    SSEEvent,
    ToolErrorEvent,
    ToolStartEvent,
    ToolSuccessEvent,
)
from soorma_ai.features.phases.rules import (
    Say,
    answers_checkpoint,
    back_by,
    expression_holds,
    in_order,
    name_of,
    texts_in,
    verdict_of,
)
from soorma_ai.kernel.domain.decisions import (
    AcceptedDecision,
    CompleteAction,
    DelegateAction,
    PublishAction,
    PublishAllAction,
    WaitAction,
    requests_in,
)
from soorma_ai.kernel.domain.events import CLIENT, EventEnvelope
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.replies import Failure, content_of, is_failure
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, schema_of
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, compact, json_object
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.state_machine.step import MachineView
from soorma_ai.kernel.runtime import planning
from soorma_ai.kernel.runtime.handling.handling import Handling

SUMMARY_CHARS = 500
# When a message is looked at again that came before its journey had begun: after twice as long each time, so often.
SOON = timedelta(seconds=1)
MOST_DOUBLED = 4


class PhaseFlow(PhaseHooks):
    """The part of a phase agent that its author does not touch."""

    def first_step(self, handling: Handling, goal: EventEnvelope) -> Coroutine[Any, Any, None]:
        return self._begin_journey(handling, goal)

    @property
    def transition(self) -> "planning.planner.Transition":
        """Return the continuation of a journey, as a function for the planning."""

        async def transition(handling: Handling, trigger: Trigger, view: MachineView) -> None:
            await self._work(self._begin_turn(handling, trigger))

        return transition

    async def decide_and_act(self, phase: Enum) -> AsyncGenerator[SSEEvent]:
        """Let the model decide one step of the `phase`, and do it: a request, a question to people, or the phase's
        work, the end of the visit."""
        hand, frame = self._turn, self._frame(phase)
        judged = await hand.journey.decide(self.settings, frame, hand.trigger)
        decision = judged.decision
        if decision.reasoning:
            yield AgentThinkingEvent(message=decision.reasoning)
        match decision.next_action:
            case CompleteAction(outcome="achieved", result=work):
                hand.journey.keep_work(work)
                for event in self._take_work(phase, json_object("the work of a phase", work)):
                    yield event
                return
            case CompleteAction():
                pass
            case WaitAction(message=message):
                yield AgentSpeakingEvent(message=message)
            case PublishAction() | PublishAllAction() | DelegateAction():
                for name, data, _ in requests_in(decision):
                    yield ToolStartEvent(tool_name=name, parameters=data)
        await hand.journey.carry_out(frame, judged, hand.trigger)
        if (ended := hand.journey.plan).failure is not None:
            yield ErrorEvent(code=ended.failure, message=ended.reason or "")

    def _frame(self, phase: Enum) -> engine.PhaseFrame:
        hand, name = self._turn, name_of(phase)
        custom: JsonObject = {**self._tell_context(phase), "phase": name, "visit": hand.journey.journey_state.visit}
        if hand.journey.work is not None:
            custom["work so far in this visit"] = hand.journey.work

        async def check(judged: AcceptedDecision) -> None:
            action = judged.decision.next_action
            if isinstance(action, CompleteAction) and action.outcome == "achieved":
                work = json_object("the work of a phase", action.result)
                if fault := await self._check_work(phase, work):
                    raise NotAllowed(fault)

        return engine.PhaseFrame(
            prompt=self._get_phase_prompt(phase, hand.journey.journey_state.visit),
            tools=tuple(_names_of(self._get_phase_tools(phase))),
            schema=self._schema_of(phase),
            custom=custom,
            most_actions=self.max_actions_in.get(name),
            terms=self.settings.terms,
            check=check,
        )

    @cached_property
    def _schemas(self) -> dict[Enum, JsonObject]:
        given = {phase: self._get_work_schema(phase) for phase in self.Phase}
        return {phase: ANY_OBJECT if source is None else schema_of(source) for phase, source in given.items()}

    def _schema_of(self, phase: Enum) -> JsonObject:
        return self._schemas[phase]

    def _begin_turn(self, handling: Handling, trigger: Trigger) -> JourneyTurn:
        journey = engine.JourneyInHand(handling, self.graph)
        hand = JourneyTurn(journey, self._create_phase_context(), trigger)
        self._hands[handling] = hand
        if journey.has_begun:
            take_rows(hand.context, journey.rows)
            self._tell_journey_state(hand)
        return hand

    def _tell_journey_state(self, hand: JourneyTurn) -> None:
        tell_journey_state(hand.context, hand.journey.journey_state, hand.journey.rows, self.Phase)

    async def _begin_journey(self, handling: Handling, goal: EventEnvelope) -> None:
        restored = goal.data.get("restored")
        rows: JsonObject | None = None
        if isinstance(restored, dict):
            if goal.own or goal.source != CLIENT:
                raise Forbidden(
                    f"{goal.source} gave a journey's exported state as `restored`; only an operator of the tenant goes "
                    "on from one, by restore_state(): leave it out to begin anew"
                )
            try:
                rows = read_state(restored, self.agent_type, self.graph)
                take_rows(self._create_phase_context(), rows)
            except LocalProtocolError as fault:
                raise RemoteProtocolError(f"the journey cannot be gone on with: {fault}") from fault
        hand = self._begin_turn(handling, handling.trigger or Trigger("The goal came."))
        brief = goal.data.get(BRIEF)
        hand.journey.begin(brief if brief is not None else (rows or {}).get(BRIEF), rows)
        take_rows(hand.context, hand.journey.rows)
        self._tell_journey_state(hand)
        await self._work(hand)

    async def _work(self, hand: JourneyTurn) -> None:
        """Go on until the journey waits for something, enters a phase, or is over."""
        try:
            if await self._take_in(hand) and await self._run_phase(hand):
                await self._advance(hand)
        finally:
            hand.journey.rows.update({CONTEXT + name: row for name, row in rows_of(hand.context).items()})

    async def _run_phase(self, hand: JourneyTurn) -> bool:
        """Run the phase as far as it goes now; True when its visit is done."""
        journey = hand.journey
        before = {one.id for one in journey.handling.open_now}
        async with aclosing(self._execute_phase(self.Phase(journey.journey_state.phase))) as events:
            async for event in events:
                await journey.say(event)
        return not journey.plan.status.is_final and not await journey.has_new_waits(before)

    async def _advance(self, hand: JourneyTurn) -> None:
        """Find out where the end of a visit leads, and go there, or wait for people."""
        journey = hand.journey
        leading = await self._find_way(hand)
        journey.hear_messages()
        if leading is None:
            journey.listen(self.message_event)
            return
        checkpoint = None if leading.is_backward else self._get_checkpoint(self.Phase(journey.journey_state.phase))
        if checkpoint is not None:
            await journey.stop_at(checkpoint, leading)
            if checkpoint.waits:
                return
        await self._move(hand, leading)

    async def _move(self, hand: JourneyTurn, leading: OpenTransition) -> None:
        await hand.journey.move(leading, self.visits_in)
        self._tell_journey_state(hand)
        if leading.to_phase != self.graph.complete:
            return
        summary = self._generate_completion_summary()
        schema = self.goals[hand.journey.plan.goal_event].response_schema
        await hand.journey.finish(summary, schema, AgentCompleteEvent(summary=summary))

    async def _find_way(self, hand: JourneyTurn) -> OpenTransition | None:
        for one in in_order(self.graph, hand.journey.journey_state.phase):
            holds, by, detail = await self._decide_condition(hand, one)
            if holds:
                detail = detail or self._get_trigger_detail(one)
                return OpenTransition(name_of(one.to_phase), one.condition, one.is_backward, by, detail)
        return None

    async def _decide_condition(self, hand: JourneyTurn, one: PhaseTransition) -> tuple[bool, DecidedBy, str]:
        journey = hand.journey
        if one.question:
            custom = self._tell_context(one.from_phase)
            holds, detail = await journey.ask_condition(self.settings, one, custom)
            return holds, DecidedBy.MODEL, detail
        if one.expression:
            visits: JsonObject = dict(journey.journey_state.visits)
            values: JsonObject = {
                "context": rows_of(hand.context),
                "work": journey.work,
                "visits": visits,
                "messages": [*texts_in(journey.messages)],
                "brief": journey.rows.get(BRIEF),
            }
            return expression_holds(one, values), DecidedBy.EXPRESSION, ""
        return bool(self._evaluate_transition_condition(one)), DecidedBy.METHOD, ""

    async def _take_in(self, hand: JourneyTurn) -> bool:
        """Take in the event; False at the end of the visit."""
        journey, closed = hand.journey, hand.journey.handling.closed
        if closed is None:
            await journey.tell_return()
            await self._tell_results(hand)
            return True
        met, event = closed
        if answers_checkpoint(met, journey.journey_state):
            return await self._leave_checkpoint(hand)
        if met.kind in (ExpectationKind.REPLY, ExpectationKind.CHILD):
            worked = met.status is not ExpectationStatus.EXPIRED and not is_failure(event.data)
            said = content_of(event.data) if met.status is not ExpectationStatus.EXPIRED else "no answer in time"
            await journey.say(_tool_event(met.subject, said, worked=worked))
        elif met.event_type == self.message_event:
            said = met.answer.payload if met.answer else event.data
            journey.keep_message(_text_of(said))
        return True

    async def _tell_results(self, hand: JourneyTurn) -> None:
        """Show the results of requests published together."""
        data = hand.trigger.data if hand.trigger.join_id is not None else None
        for one in data if isinstance(data, list) else ():
            if isinstance(one, dict):
                worked = one.get("status") == "ok"
                said = one.get("result") if worked else one.get("error", one.get("status"))
                await hand.journey.say(_tool_event(str(one.get("event")), said, worked=worked))

    async def _leave_checkpoint(self, hand: JourneyTurn) -> bool:
        """Carry out a person's answer at a checkpoint, or its absence in time; False at the end of the visit."""
        journey, closed = hand.journey, hand.journey.handling.closed
        assert closed is not None
        verdict, leading = verdict_of(closed[0]), journey.pass_checkpoint()
        phase = journey.journey_state.phase
        match verdict.say:
            case Say.APPROVE | Say.GO_ON:
                await self._move(hand, leading)
                return False
            case Say.MODIFY:
                self._apply_user_modifications(verdict.modifications)
                data: JsonObject = {"modifications": verdict.modifications, "reason": verdict.reason}
                hand.trigger = Trigger(f"A person wants something changed in what {phase} came to.", data)
            case Say.REJECT:
                if back := back_by(self.graph, phase, verdict):
                    await self._move(hand, back)
                    return False
                hand.trigger = Trigger(f"A person rejected what {phase} came to.", {"reason": verdict.reason})
        return True

    async def _take_message(self, event: EventEnvelope, context: PlatformContext) -> None:
        """Keep a person's message outside of the plan's waits. It is shown in the present phase of the plan."""
        handling = context.handling
        if event.source != CLIENT or event.plan_id is None:
            return
        plan = await PlanContext.restore(event.plan_id, context)
        if plan is None:
            # As long as its goal is in line, the journey will begin.
            is_coming = await handling.services.store.queue.count_pending(handling.agent, event.plan_id) > 0
            pause = SOON * 2 ** min(handling.rests, MOST_DOUBLED)
            raise Retry("the journey has not begun yet", after=pause, counts=not is_coming)
        if plan.status.is_final or (event.own and event.user_id != plan.user_id):
            return
        journey = engine.JourneyInHand(handling, self.graph)
        text = _text_of(event.data)
        journey.keep_message(text)
        said = append_step(plan.record, StepKind.RECEIVED, handling.moment(), name=event.type, data={"text": text})
        handling.apply(said)
        await journey.say(_WorkKeptEvent(phase=journey.journey_state.phase))

    async def _fail(self, handling: Handling, failure: Failure) -> None:
        await self._engine.fail(handling, failure)
        if handling.has_plan:
            journey = engine.JourneyInHand(handling, self.graph)
            await journey.say(ErrorEvent(code=failure.code, message=failure.message))

    @property
    def agent_type(self) -> str:
        """The kind of the agent, as a mark of its exported states."""
        return type(self).__name__


class _WorkKeptEvent(SSEEvent, frozen=True, kw_only=True):
    event_type: ClassVar[str] = MESSAGE_KEPT
    phase: str


def _names_of(tools: Iterable[PhaseTool]) -> Iterable[str]:
    for tool in tools:
        match tool:
            case Tool():
                yield from tool.events_consumed
            case EventDefinition(event_name=name):
                yield name
            case _:
                yield tool


def _tool_event(name: str, said: Json, *, worked: bool) -> SSEEvent:
    told = clip(said if isinstance(said, str) else compact(said), SUMMARY_CHARS)
    if worked:
        return ToolSuccessEvent(tool_name=name, result_summary=told)
    return ToolErrorEvent(tool_name=name, error=told)


def _text_of(data: Mapping[str, Json]) -> str:
    text = data.get("text")
    return text if isinstance(text, str) else compact(dict(data))
