"""Engine of every planner: load the state of a plan, let its author, state machine or model decide, record it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from msgspec.structs import replace

from soorma_ai.kernel.domain.decisions import AcceptedDecision, PlannerDecision, WaitAction, fingerprint
from soorma_ai.kernel.domain.effects import Disposition, Publish
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.plans import Fork
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.states import States
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.choices.offer import declare_wait
from soorma_ai.kernel.rules.decisions.judge import judge, prepare_decision
from soorma_ai.kernel.rules.plans.carry_out import carry_out
from soorma_ai.kernel.rules.plans.lifecycle import has_something_to_come, must_go_on
from soorma_ai.kernel.rules.plans.requests import park
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.plans.turns import enters_phase
from soorma_ai.kernel.rules.state_machine.step import MachineView, hold, is_held, keep_result
from soorma_ai.kernel.runtime.handling.check_ahead import run_in_slices
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.planning.decide import (
    StepQuestion,
    check_decision_ahead,
    decide,
    offer_now,
    situation_now,
)
from soorma_ai.kernel.runtime.planning.forks import find_hindrance, rehearse_now, settings_of_fork
from soorma_ai.kernel.runtime.planning.machine import MachineInHand
from soorma_ai.kernel.runtime.planning.settings import PlannerSettings
from soorma_ai.kernel.runtime.planning.turn import (
    begin_turn,
    continue_turn,
    fail_plan,
    fail_turn,
    goal_of,
    recall_session,
    rest_turn,
)

Transition = Callable[[Handling, Trigger, MachineView], Awaitable[None]]


class Author(Protocol):
    """Code of a planner's author: handlers, all optional, and state machines by their goals."""

    @property
    def settings(self) -> PlannerSettings: ...

    @property
    def machines(self) -> Mapping[str, tuple[States, str]]: ...

    def first_step(self, handling: Handling, goal: EventEnvelope) -> Awaitable[None] | None: ...

    @property
    def transition(self) -> Transition | None: ...

    async def ask_custom_context(self, handling: Handling) -> JsonObject: ...


class PlanParked(Exception):
    """There is no agent to ask; the plan sleeps, and the rest of the handler is not run."""


class HandlerPostponed(Exception):
    """There is no material for a plan: the handler's effects are dropped, and it is called again."""

    def __init__(self, wanted: Iterable[str]) -> None:
        super().__init__("put off until somebody takes one of its events")
        self.wanted = tuple(wanted)


class PlanningEngine:
    def __init__(self, author: Author) -> None:
        self._author = author

    async def begin(self, handling: Handling) -> None:
        """Begin the plan of a goal that has come."""
        trigger = await begin_turn(handling, self._author.settings)
        if trigger is not None:
            handling.trigger = trigger
            await self._make_first_step(handling, handling.event, trigger)

    async def go_on(self, handling: Handling) -> None:
        """Continue a plan at the end of a wait: its event has come, or its time is over."""
        trigger = await continue_turn(handling)
        if trigger is None:
            return
        if self._author.settings.reasoner is not None:
            handling.must_be_first()  # a model may be asked
        handling.trigger = trigger
        if handling.plan.fork is not None:
            await self._go_on_in_fork(handling, trigger, handling.plan.fork)
            return
        machine, transition = MachineInHand(handling), self._author.transition
        handling.record(*keep_result(handling.plan, handling.closed))
        if (machine.states or transition is None) and is_held(handling.open_now):
            handling.apply(hold(machine.view_now(), handling.services.clock.now()))
        elif handling.plan.is_due and not machine.states:
            machine.drop()
            await self._make_first_step(handling, await goal_of(handling), trigger)
        elif transition is None:
            await self._go_on_by_itself(handling, trigger)
        else:
            await self._call_author(handling, transition(handling, trigger, machine.view_now()))

    async def _go_on_in_fork(self, handling: Handling, trigger: Trigger, fork: Fork) -> None:
        """Ask the model for the next step of a fork. No code of an author runs."""
        handling.record(*keep_result(handling.plan, handling.closed))
        has_transition = self._author.transition is not None
        if failure := find_hindrance(self._author.settings, fork, has_transition=has_transition):
            await fail_plan(handling, failure)
            return
        settings = settings_of_fork(handling, self._author.settings, fork)
        try:
            judged = await _decide(handling, settings, StepQuestion(trigger, {}, acts_at_once=True))
        except PlanParked:
            return
        if fork.is_dry:
            handling.apply(await rehearse_now(handling, judged, trigger, fork))
        else:
            _carry_out(handling, judged, trigger, settings)

    async def fail(self, handling: Handling, failure: Failure) -> None:
        await fail_turn(handling, failure, self._author.settings)

    async def rest(self, handling: Handling, disposition: Disposition) -> None:
        await rest_turn(handling, disposition, self._author.settings)

    async def decide(
        self, handling: Handling, trigger: Trigger, custom: JsonObject, *, acts_at_once: bool = False
    ) -> AcceptedDecision:
        """Let the model decide about the present plan. Raises PlanParked without an agent to ask, else as `decide`."""
        return await _decide(handling, self._author.settings, StepQuestion(trigger, custom, acts_at_once))

    async def judge(
        self, handling: Handling, decision: PlannerDecision, trigger: Trigger, *, declares: bool
    ) -> AcceptedDecision:
        """Judge, as things are now, a decision that the author gives; `declares`: an event that it waits for is
        expected by that alone."""
        offer = await offer_now(handling, self._author.settings)
        if declares and isinstance(wait := decision.next_action, WaitAction):
            known = await handling.services.store.registry.all_events(handling.plan.lineage.tenant_id)
            offer = declare_wait(offer, wait.expected_event, known)
        tenant_id = handling.plan.lineage.tenant_id
        decision = await run_in_slices(tenant_id, prepare_decision(decision, offer))
        await check_decision_ahead(tenant_id, decision, offer)
        situation = situation_now(handling, offer, fingerprint(decision, trigger.facts), decision)
        return judge(decision, situation)

    async def carry_out(self, handling: Handling, judged: AcceptedDecision, trigger: Trigger) -> None:
        _carry_out(handling, judged, trigger, self._author.settings)

    async def _make_first_step(self, handling: Handling, goal: EventEnvelope, trigger: Trigger) -> None:
        await recall_session(handling, self._author.settings.earlier_plans)
        if declared := self._author.machines.get(goal.type):
            MachineInHand(handling).begin(*declared)
        first_step = self._author.first_step(handling, goal)
        if first_step is None:
            await self._go_on_by_itself(handling, trigger)
        else:
            await self._call_author(handling, first_step)

    async def _call_author(self, handling: Handling, handler: Awaitable[None]) -> None:
        """Run the author's handler, and make up for its omissions."""
        roll_back = handling.checkpoint()
        try:
            await handler
        except PlanParked:
            return
        except HandlerPostponed as put_off:
            roll_back()
            MachineInHand(handling).drop()
            # Its first step is still to be made: see `go_on`.
            due = replace(handling.plan, is_due=True)
            handling.apply(park(due, handling.moment(), *put_off.wanted))
            return
        machine = MachineInHand(handling)
        ended, waits = handling.plan.status.is_final, bool(handling.open_now)
        if machine.states and self._author.transition is None and not ended and not waits:
            await machine.advance()
        await machine.rest()
        await self._must_go_on(handling)

    async def _go_on_by_itself(self, handling: Handling, trigger: Trigger) -> None:
        """Continue without a handler: by the plan's state machine, else by the model's decision."""
        machine, settings = MachineInHand(handling), self._author.settings
        if machine.states:
            await machine.advance()
        elif settings.reasoner is not None:
            try:
                question = StepQuestion(trigger, await self._author.ask_custom_context(handling), acts_at_once=True)
                judged = await _decide(handling, settings, question)
            except PlanParked:
                return
            _carry_out(handling, judged, trigger, settings)
            return
        await self._must_go_on(handling)

    async def _must_go_on(self, handling: Handling) -> None:
        open_now = handling.open_now
        published = [effect.event for effect in handling.recorded if isinstance(effect, Publish)]
        wakes_itself = any(map(enters_phase, published))
        has_more = wakes_itself or (not has_something_to_come(open_now) and await handling.has_more_to_come())
        asked = [event.type for event in published if event.topic is EventTopic.ACTION_REQUESTS]
        must_go_on(handling.plan, open_now, has_more=has_more, asked=asked)


async def _decide(handling: Handling, settings: PlannerSettings, question: StepQuestion) -> AcceptedDecision:
    offer = await offer_now(handling, settings)
    if offer.is_empty:
        handling.apply(park(handling.plan, handling.moment()))
        raise PlanParked
    return await decide(handling, settings, offer, question)


def _carry_out(handling: Handling, judged: AcceptedDecision, trigger: Trigger, settings: PlannerSettings) -> None:
    # An event of another owner finds a plan that may be waiting for something else.
    moment = handling.moment()
    going = move(handling.plan, StatusTrigger.GO, moment.now)
    handling.apply(carry_out(going, judged, trigger, handling.open_now, moment, settings.terms))
