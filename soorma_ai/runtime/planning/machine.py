"""The state machine of the plan in hand: what an event leads to is recorded like everything else."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from soorma_ai.core.deciding.judge import judge, must_be_within_limits
from soorma_ai.core.deciding.offer import Offer, make_offer
from soorma_ai.core.machine import machine
from soorma_ai.core.machine.machine import expected_reply
from soorma_ai.core.machine.templates import View, filled
from soorma_ai.core.plan.lifecycle import complete, fail
from soorma_ai.core.plan.outcome import Outcome, step
from soorma_ai.core.plan.requests import Question, ask, delegate, hold, park, request
from soorma_ai.core.plan.status import moved
from soorma_ai.core.plan.triggers import Trigger
from soorma_ai.domain.decisions import DelegateAction, Judged, PlannerDecision, PublishAction, WaitAction, fingerprint
from soorma_ai.domain.effects import Close, Expect
from soorma_ai.domain.events import CLIENT, EventEnvelope, EventTopic
from soorma_ai.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.domain.history import StepKind
from soorma_ai.domain.plans import PlanRecord, PlanStatus
from soorma_ai.domain.registry import EventDefinition, EventRole
from soorma_ai.domain.replies import ExpectedReply, Failure
from soorma_ai.domain.schemas import ANY_OBJECT, describe, violations
from soorma_ai.domain.spans import span_of
from soorma_ai.domain.states import RESUMED, USER_INPUT, StateAction, StateConfig
from soorma_ai.domain.values import Json, JsonObject
from soorma_ai.errors import LocalProtocolError
from soorma_ai.runtime.handling.handling import Handling
from soorma_ai.runtime.planning.decide import situation_now, state_of

NO_TRANSITION = "no_transition"
PAUSE_REASON = "pause_reason"
PAUSED_ON = "paused_on"


class MachineInHand:
    """Of a plan whose values have been read."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling
        self._values = handling.values

    @property
    def plan(self) -> PlanRecord:
        return self._handling.plan

    @property
    def states(self) -> dict[str, StateConfig]:
        return self._values.machine

    @property
    def config(self) -> StateConfig | None:
        return self.states.get(self.plan.current_state)

    @property
    def is_at_end(self) -> bool:
        return self.config is not None and self.config.is_terminal

    @property
    def is_own_delivery(self) -> bool:
        return self._handling.delivery.owner == self.plan.plan_id

    @property
    def seen(self) -> EventEnvelope | None:
        """What the plan was waiting for, by the name that transitions know it by."""
        return machine.as_seen(*self._handling.closed) if self._handling.closed else None

    @property
    def _view(self) -> View:
        plan = self.plan
        ids: JsonObject = {"plan_id": plan.plan_id, "goal_id": plan.goal_id, "session_id": plan.lineage.session_id}
        return View(plan.goal_data, self._values.results, self._values.state, ids)

    def begin(self, states: Mapping[str, StateConfig], current_state: str) -> None:
        machine.check(states, current_state)
        self._values.declare(states)
        self.move(current_state)

    def drop(self) -> None:
        """The plan goes by no machine."""
        self._values.declare({})
        self._change(replace(self.plan, is_due=False))

    def take(self) -> None:
        """Keep what came under the name of the state that asked for it."""
        seen = self.seen
        if seen is None or self._handling.closed is None:
            return
        met = self._handling.closed[0]
        if met.event_type == RESUMED:
            self._values.results[USER_INPUT] = seen.data
        elif met.kind is not ExpectationKind.OFFER:
            key = self.plan.current_state if met.id == self.plan.awaits else met.subject
            self._values.results[key] = machine.result_in(seen)

    def next_state(self, event: EventEnvelope) -> str | None:
        config = self.config
        if config is None:
            return None
        found = machine.next_state(config, event, self._view)
        if found is not None or event.type != RESUMED:
            return found
        kept = self._values.state.get(PAUSED_ON)
        if isinstance(kept, dict) and isinstance(kept["data"], dict):
            before = event.model_copy(update={"type": kept["type"], "data": kept["data"]})
            found = machine.next_state(config, before, self._view)
        has_come = kept is not None or config.action is None
        return found or (config.default_next if has_come else None)

    def move(self, state: str) -> None:
        self._change(replace(self.plan, current_state=state, is_due=True))

    def has_next(self, open_now: Sequence[Expectation]) -> bool:
        """Whether a step follows without an event."""
        config = self.config
        if config is None or config.is_terminal:
            return False
        return (self.plan.is_due or config.default_next is not None) and not self._waits(open_now)

    def _waits(self, open_now: Sequence[Expectation]) -> bool:
        """For what the state asked, or for somebody who takes what it is to ask."""
        if not self.plan.is_due:
            return any(e.id == self.plan.awaits or e.event_type == RESUMED for e in open_now)
        asks = self.config.action if self.config else None
        offers = (e for e in open_now if e.kind is ExpectationKind.OFFER)
        return asks is not None and any(asks.event_type in offer.event_types for offer in offers)

    async def execute(self, event: EventEnvelope | None) -> bool:
        """Carry out what is due, or what follows from the event, or what follows without one. False: nothing does."""
        if event is None and self._waits(await self._handling.open_now()):
            return False
        if not self.plan.is_due:
            following = self.next_state(event) if event else self.config and self.config.default_next
            if not following:
                return False
            self.move(following)
        await self._run()
        if not self.is_own_delivery:
            await self.settle()
        return True

    async def advance(self) -> None:
        """By itself: what came is carried on, or the plan fails for want of a way."""
        seen = self.seen
        is_going = await self.execute(seen) if seen or self.plan.is_due else True
        if not is_going and not await self._handling.open_now():
            await self._fail(_without_way(self.plan, seen))
        await self.settle()

    async def settle(self) -> None:
        """An end that is reached is told; a state that asks for nothing waits for the events that it names."""
        if self.plan.status.is_final:
            return
        config = self.config
        if config is None or (self.plan.is_due and not config.is_terminal):
            return
        if config.is_terminal:
            await self.finish()
        elif config.action is None and config.transitions and not await self._handling.open_now():
            first, *others = dict.fromkeys(transition.on_event for transition in config.transitions)
            words = config.description or f"The plan waits for {first}."
            await self._ask(ExpectedReply(first, tuple(others)), words, reason="event_awaited")

    async def finish(self, result: Json = None) -> None:
        config = self.config
        if config and config.fails:
            seen = self.seen
            why = f": {machine.error_of(seen)[1]}" if seen and machine.is_failure(seen) else ""
            await self._fail(Failure("failed", (config.description or f"ended in state {config.state_name!r}") + why))
            return
        if result is None and config:
            results: JsonObject = dict(self._values.results)
            result = results if config.result is None else filled(config.result, self._view)
        faults = violations(await self._result_schema(), result)
        if faults:
            words = f"the result does not match the goal's response schema: {describe(faults)}"
            await self._fail(Failure("payload_mismatch", words))
            return
        handling = self._handling
        handling.apply(complete(self.plan, result, await handling.open_now(), handling.moment()))

    async def pause(self, reason: str) -> str:
        """Returns the id of the wait that ends it. What the state asked is awaited all the same."""
        for opened in await self._open_waits():
            self._close(opened)
        seen = self.seen
        if seen is not None and not self.plan.is_due:
            self._values.state[PAUSED_ON] = {"type": seen.type, "data": seen.data}
        config = self.config
        if config is not None and config.action is None and config.passes_on is None:
            self._change(replace(self.plan, is_due=False))  # nothing is left to ask: what resumes the plan leads on
        self._values.state[PAUSE_REASON] = reason
        awaited = next((e.id for e in await self._handling.open_now() if e.id == self.plan.awaits), None)
        wait_id = await self._ask(ExpectedReply(RESUMED), reason, reason=reason, producers=(CLIENT,))
        self._change(replace(self.plan, awaits=awaited or wait_id))
        return wait_id

    async def is_held(self) -> bool:
        """Whether somebody has to resume the plan, whatever else comes."""
        return any(wait.event_type == RESUMED for wait in await self._open_waits())

    def hold(self) -> None:
        """What came is kept, and leads on when the plan is resumed."""
        seen, closed = self.seen, self._handling.closed
        if seen is not None and closed is not None and closed[0].id == self.plan.awaits and self.states:
            self._values.state[PAUSED_ON] = {"type": seen.type, "data": seen.data}
        self._change(moved(self.plan, PlanStatus.PAUSED, self._handling.services.clock.now()))

    async def resume(self, data: JsonObject) -> None:
        """Nothing happens to a plan that waits for nobody (any more)."""
        waits = await self._open_waits()
        if not waits:
            if any(e.kind is ExpectationKind.GATE for e in await self._handling.open_now()):
                raise LocalProtocolError("the plan is held for an approval, which only a person's answer gives")
            return
        for wait in waits:
            self._close(wait)
        handling = self._handling
        outcome = step(moved(self.plan, PlanStatus.RUNNING, handling.moment().now), StepKind.RESUMED, handling.moment())
        handling.apply(outcome)
        self._values.results[USER_INPUT] = data
        event = handling.event.model_copy(update={"data": data})
        names = (event.type, *(wait.event_type for wait in waits))
        found = [name for name in names if self.next_state(event.model_copy(update={"type": name}))]
        lead = event.model_copy(update={"type": found[0] if found else RESUMED})
        if not await self.execute(lead) and not await self._handling.open_now():
            await self._fail(_without_way(self.plan, lead))

    async def request(self, event_type: str, data: JsonObject, reply: ExpectedReply) -> str | None:
        """Checked, held by its gate if it has one. None: nobody takes it, and the plan sleeps until somebody does."""
        handling = self._handling
        offer = await self._offer(event_type)
        decision = _decision(offer, event_type, data)
        if decision is None:
            handling.apply(park(self.plan, handling.moment(), event_type))
            return None
        mark = fingerprint(decision, self._known())
        judged = judge(decision, await situation_now(handling, offer, mark))
        outcome = self._asked(judged, reply, mark)
        handling.apply(outcome)
        return _opened(outcome).id

    async def _run(self) -> None:
        """What the current state asks, after those that lead on without an event."""
        config = self._config()
        while config.passes_on is not None:
            self.move(config.passes_on)
            config = self._config()
        await self._leave()
        if config.action is None:
            self._change(replace(self.plan, is_due=False, awaits=None))
            return
        data = filled(config.action.data or {}, self._view)
        assert isinstance(data, dict)
        opened = await self._act(config, config.action, data)
        self._change(replace(self.plan, is_due=opened is None, awaits=opened))

    async def _act(self, config: StateConfig, action: StateAction, data: JsonObject) -> str | None:
        if not action.is_question:
            return await self.request(action.event_type, data, expected_reply(config, action))
        reply = expected_reply(config, action, timeout=_seconds(data.get("timeout_seconds")))
        words = str(data.get("question") or data.get("message") or config.description)
        schema = data.get("response_schema")
        return await self._ask(
            reply, words, reason="input_required", schema=schema if isinstance(schema, dict) else None, about=data
        )

    async def _ask(
        self,
        reply: ExpectedReply,
        message: str,
        *,
        reason: str,
        schema: JsonObject | None = None,
        about: JsonObject | None = None,
        producers: tuple[str, ...] | None = None,
    ) -> str:
        handling = self._handling
        known = await handling.services.store.known_events(self.plan.lineage.tenant_id)
        made = [
            e
            for e in known
            if e.role in (EventRole.MAKES, EventRole.AWAITS)
            and e.definition.event_name in (reply.event_type, *reply.others)
        ]
        definition = next((e.definition for e in made if e.definition.event_name == reply.event_type), None)
        definition = definition or EventDefinition(
            event_name=reply.event_type, topic=EventTopic.NOTIFICATION_EVENTS, payload_schema=schema or ANY_OBJECT
        )
        if producers is None:
            producers = (CLIENT, *(e.agent for e in made if e.role is EventRole.MAKES))
        decision = PlannerDecision(
            next_action=WaitAction(expected_event=reply.event_type, message=message, timeout_seconds=None)
        )
        mark = fingerprint(decision, self._known())
        must_be_within_limits(decision, await situation_now(handling, Offer(), mark))
        question = Question(reply, reason, message, definition, producers, about)
        outcome = ask(self.plan, question, handling.moment(), mark=mark)
        handling.apply(outcome)
        opened = _opened(outcome).id
        self._change(replace(self.plan, awaits=opened))
        return opened

    def _asked(self, judged: Judged, reply: ExpectedReply, mark: str) -> Outcome:
        plan, moment = self.plan, self._handling.moment()
        match judged.decision.next_action:
            case (PublishAction() | DelegateAction()) as action if judged.approval:
                return hold(plan, action, judged.definition, judged.approval, moment, mark=mark, reply=reply)
            case PublishAction() as action:
                return request(plan, action, judged.definition, moment, mark=mark, reply=reply)
            case DelegateAction() as action:
                return delegate(plan, action, judged.definition, moment, mark=mark, reply=reply)
            case other:
                raise LocalProtocolError(f"a state asks by a request, not by {other.action!r}")

    async def _offer(self, event_type: str) -> Offer:
        """Of those that live; where none of them takes it, of those that will when they are back."""
        services, plan = self._handling.services, self.plan
        now = services.clock.now()
        await services.presence.confirm(services.store, now)
        live = make_offer(plan.agent, await services.store.live_events(plan.lineage.tenant_id, now), (), None)
        if live.takes(event_type):
            return live
        return make_offer(plan.agent, await services.store.known_events(plan.lineage.tenant_id), (), None)

    async def _result_schema(self) -> JsonObject:
        for known in await self._handling.services.store.known_events(self.plan.lineage.tenant_id):
            is_goal = known.role is EventRole.TAKES_AS_GOAL and known.agent == self.plan.agent
            if is_goal and known.definition.event_name == self.plan.goal_event and known.definition.response_schema:
                return known.definition.response_schema
        return {}

    async def _leave(self) -> None:
        """What the state before asked is not waited for any more."""
        for opened in await self._handling.open_now():
            if opened.id == self.plan.awaits or opened.event_type == RESUMED:
                self._close(opened)
        self._values.state.pop(PAUSED_ON, None)
        self._values.state.pop(PAUSE_REASON, None)

    async def _open_waits(self) -> list[Expectation]:
        return [e for e in await self._handling.open_now() if e.kind is ExpectationKind.WAIT]

    def _close(self, opened: Expectation) -> None:
        now = self._handling.services.clock.now()
        self._handling.record(Close(opened.id, ExpectationStatus.CLOSED, now, first=True))

    async def _fail(self, failure: Failure) -> None:
        handling = self._handling
        handling.apply(fail(self.plan, failure, await handling.open_now(), handling.moment()))

    def _known(self) -> str:
        """What was known when something was asked, for the repeat limit."""
        event = self._handling.event
        trigger = self._handling.trigger or Trigger(event.type, event.data)
        return f"{self.plan.current_state}: {state_of(trigger)}"

    def _config(self) -> StateConfig:
        if self.config is None:
            raise LocalProtocolError(
                f"the plan is in state {self.plan.current_state!r}, which its machine does not have"
            )
        return self.config

    def _change(self, plan: PlanRecord) -> None:
        self._handling.apply(Outcome(plan))


def _decision(offer: Offer, event_type: str, data: JsonObject) -> PlannerDecision | None:
    """A request to whoever takes the event; a goal, to the planner that pursues it."""
    if offer.event(event_type):
        return PlannerDecision(next_action=PublishAction(event_type=event_type, data=data))
    planner = next((d.planner for d in offer.delegates if d.goal.event_name == event_type), None)
    if planner is None:
        return None
    return PlannerDecision(next_action=DelegateAction(target_planner=planner, goal_event=event_type, goal_data=data))


def _seconds(given: Json) -> float | None:
    return None if given is None else span_of("timeout_seconds", given).total_seconds()


def _opened(outcome: Outcome) -> Expectation:
    return next(effect.expectation for effect in outcome.effects if isinstance(effect, Expect))


def _without_way(plan: PlanRecord, seen: EventEnvelope | None) -> Failure:
    where = f"in state {plan.current_state!r}"
    if seen is None:
        return Failure(NO_TRANSITION, f"nothing leads on {where}")
    if machine.is_failure(seen):
        code, words = machine.error_of(seen)
        return Failure(code, f"{seen.type} {where}, and no transition takes it: {words} ({code})")
    return Failure(NO_TRANSITION, f"{seen.type} came {where}, and no transition takes it")
