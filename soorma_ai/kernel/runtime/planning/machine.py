"""State machine of the present plan: read the facts of a step, take it, record its effects."""

from collections.abc import Mapping

from msgspec.structs import replace

from soorma_ai.kernel.domain.decisions import PlannerDecision, WaitAction, fingerprint
from soorma_ai.kernel.domain.effects import PlanChange
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.registry import EventRole
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.states import StateConfig
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.choices.offer import Offer, make_offer
from soorma_ai.kernel.rules.decisions.judge import judge, must_be_within_limits
from soorma_ai.kernel.rules.plans.lifecycle import complete
from soorma_ai.kernel.rules.plans.requests import PlanQuestion, ask, decision_of, park, publish_or_hold
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.state_machine.machine import check
from soorma_ai.kernel.rules.state_machine.step import (
    AgentRequest,
    MachineView,
    Move,
    end,
    enter,
    lead,
    pause,
    rest,
    result_of,
    resume,
    step,
    without_way,
)
from soorma_ai.kernel.rules.waits.opening import first_opened
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.planning.decide import check_decision_ahead, offer_now, situation_now
from soorma_ai.kernel.runtime.planning.turn import fail_plan


class MachineInHand:
    """State machine of a plan with its values read."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling

    @property
    def states(self) -> dict[str, StateConfig]:
        return self._handling.values.machine

    def begin(self, states: Mapping[str, StateConfig], current_state: str) -> None:
        check(states, current_state)
        self._handling.values.declare(states)
        self.enter(current_state)

    def enter(self, state: str) -> None:
        self._handling.apply(PlanChange(enter(self._handling.plan, state)))

    def drop(self) -> None:
        """The plan goes by no machine."""
        self._handling.values.declare({})
        self._handling.apply(PlanChange(replace(self._handling.plan, is_due=False)))

    def view(self, open_now: list[Expectation]) -> MachineView:
        handling, values = self._handling, self._handling.values
        closed = handling.closed
        return MachineView(handling.plan, values.machine, values.results, values.state, values.pause, open_now, closed)

    def view_now(self) -> MachineView:
        return self.view(self._handling.open_now)

    async def step(self, event: EventEnvelope | None) -> bool:
        """Take a step; False where nothing leads on."""
        taken = step(self.view_now(), event, self._handling.services.clock.now())
        if taken is None:
            return False
        await self._carry_out(taken)
        if self._handling.delivery.owner != self._handling.plan.plan_id:
            await self.rest()
        return True

    async def advance(self) -> None:
        """Continue by itself with the event, or fail the plan without a way on."""
        seen = self.view([]).seen
        is_going = await self.step(seen) if seen or self._handling.plan.is_due else True
        if not is_going and not self._handling.open_now:
            await fail_plan(self._handling, without_way(self._handling.plan, seen))
        await self.rest()

    async def rest(self) -> None:
        """End the plan that has reached an end; wait for the events that a state names which asks for nothing."""
        view = self.view_now()
        if view.plan.status.is_final:
            return
        if view.config and view.config.is_terminal:
            await self.finish()
        elif question := rest(view):
            await self._carry_out(Move(PlanChange(view.plan), question))

    async def finish(self, result: Json = None) -> None:
        view = self.view_now()
        schema = await self._result_schema()
        filled = result_of(view, result)
        await check_ahead(view.plan.lineage.tenant_id, schema, filled)
        ended = end(view, filled, schema)
        if isinstance(ended, Failure):
            await fail_plan(self._handling, ended)
        else:
            self._handling.apply(complete(view.plan, ended, view.open_now, self._handling.moment()))

    async def pause(self, reason: str) -> str:
        """The id of the wait that ends it."""
        handling = self._handling
        paused, question = pause(self.view_now(), reason, handling.services.clock.now())
        handling.apply(paused)
        wait_id = await self._ask(question)
        handling.apply(PlanChange(replace(handling.plan, awaits=handling.plan.awaits or wait_id)))
        return wait_id

    async def resume(self, data: JsonObject) -> None:
        """Continue with this input. A plan without any wait for people stays as it is."""
        handling, view = self._handling, self.view_now()
        resumed = resume(view, data, handling.moment())
        if resumed is None:
            return
        handling.apply(resumed)
        awaited = [wait.event_type for wait in view.open_now if wait.kind is ExpectationKind.WAIT]
        event = lead(self.view([]), handling.event.model_copy(update={"data": data}), awaited)
        if not await self.step(event) and not handling.open_now:
            await fail_plan(self._handling, without_way(handling.plan, event))

    async def request(self, asked: AgentRequest) -> str | None:
        """Ask an agent, with checks, and with its gate if there is one; return the id of the opened expectation. None:
        it has no taker, and the plan sleeps until there is one."""
        handling, plan = self._handling, self._handling.plan
        offer = await self._offer(asked.event_type)
        decision = _decision(offer, asked)
        if decision is None:
            handling.apply(park(plan, handling.moment(), asked.event_type))
            return None
        mark = fingerprint(decision, self._what_is_known())
        await check_decision_ahead(plan.lineage.tenant_id, decision, offer)
        judged = judge(decision, situation_now(handling, offer, mark))
        outcome = publish_or_hold(plan, judged, handling.moment(), fingerprint=mark, reply=asked.reply)
        handling.apply(outcome)
        return first_opened(outcome.effects).id

    async def _carry_out(self, taken: Move) -> None:
        self._handling.apply(taken.outcome)
        match taken.asks:
            case AgentRequest():
                opened = await self.request(taken.asks)
            case PlanQuestion():
                opened = await self._ask(taken.asks)
            case None:
                return
        if opened is not None:
            self._handling.apply(PlanChange(replace(self._handling.plan, is_due=False, awaits=opened)))

    async def _ask(self, question: PlanQuestion) -> str:
        handling, plan = self._handling, self._handling.plan
        known = await handling.services.store.registry.all_events(plan.lineage.tenant_id)
        name, message = question.reply.event_type, question.message
        waiting = PlannerDecision(next_action=WaitAction(expected_event=name, message=message, timeout_seconds=None))
        mark = fingerprint(waiting, self._what_is_known())
        must_be_within_limits(waiting, situation_now(handling, Offer(), mark))
        outcome = ask(plan, question, known, handling.moment(), fingerprint=mark)
        handling.apply(outcome)
        return first_opened(outcome.effects).id

    async def _offer(self, event_type: str) -> Offer:
        """The offer of agents that live; where none of them takes the event, of those too that are gone for now."""
        live = await offer_now(self._handling)
        if live.takes(event_type):
            return live
        plan, registry = self._handling.plan, self._handling.services.store.registry
        return make_offer(plan.agent, await registry.all_events(plan.lineage.tenant_id), (), None)

    async def _result_schema(self) -> JsonObject:
        plan = self._handling.plan
        known = await self._handling.services.store.registry.all_events(plan.lineage.tenant_id)
        goals = [e.definition for e in known if e.role is EventRole.TAKES_AS_GOAL and e.agent == plan.agent]
        schemas = (goal.response_schema for goal in goals if goal.event_name == plan.goal_event)
        return next((schema for schema in schemas if schema), None) or {}

    def _what_is_known(self) -> str:
        """Return the known state at the making of a request, for the repeat limit."""
        event = self._handling.event
        trigger = self._handling.trigger or Trigger(event.type, event.data)
        return f"{self._handling.plan.current_state}: {trigger.facts}"


def _decision(offer: Offer, asked: AgentRequest) -> PlannerDecision | None:
    """Return a request to any taker of the event; for a goal, to its planner."""
    name, data = asked.event_type, asked.data
    if offer.event(name):
        return decision_of(name, data, None)
    planner = next((d.planner for d in offer.delegates if d.goal.event_name == name), None)
    return decision_of(name, data, planner) if planner is not None else None
