"""Contexts of a planner's handlers: the goal, the plan, and the end of a wait."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.errors import LocalProtocolError, RemoteProtocolError, UnknownEvent
from soorma_ai.kernel.domain.effects import PlanChange
from soorma_ai.kernel.domain.events import EventEnvelope, Lineage, completion_of
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus, plan_id_of
from soorma_ai.kernel.domain.replies import ExpectedReply
from soorma_ai.kernel.domain.states import START, StateConfig, StateMachine, initial_of, states_of
from soorma_ai.kernel.domain.values import Data, Json, JsonObject, clip, json_object
from soorma_ai.kernel.rules.plans.lifecycle import cancel
from soorma_ai.kernel.rules.plans.status import TABLE, move
from soorma_ai.kernel.rules.state_machine.step import AgentRequest, MachineView, state_after
from soorma_ai.kernel.runtime import planning
from soorma_ai.kernel.runtime.handling.handling import Handling, current_handling

FINAL = "final"

# A failure, a timeout or a person's answer is seen under the name that transitions know it by.
EventContext: TypeAlias = EventEnvelope


class GoalContext(Struct, frozen=True, kw_only=True):
    """Goal, as sent by its caller. `sent_at` is the moment of its sending; for a recurring goal, the moment when it was
    due."""

    event_type: str
    """Name of the goal."""
    data: dict[str, Any]
    """Payload of the goal."""
    goal_id: str = ""
    """Id of the goal."""
    correlation_id: str = ""
    """Reply key of the goal."""
    response_event: str | None = None
    """Name of the answer; None for a goal without one."""
    session_id: str | None = None
    """Conversation of the goal."""
    tenant_id: str = Lineage().tenant_id
    """Tenant of the goal."""
    user_id: str = Lineage().user_id
    """User of the goal."""
    idempotency_key: str = ""
    """Key for outside effects, the same at every attempt."""
    attempt: int = 1
    """Number of this attempt, from 1."""
    sent_at: datetime | None = None

    @classmethod
    def of(cls, handling: Handling, event: EventEnvelope) -> "GoalContext":
        """Return the context of the goal `event`; it need not be the present delivery."""
        return cls(
            event_type=event.type,
            data=dict(event.data),
            goal_id=event.id,
            correlation_id=event.correlation_id or event.id,
            response_event=event.response_event,
            session_id=event.session_id,
            tenant_id=event.tenant_id,
            user_id=event.user_id,
            idempotency_key=handling.idempotency_key,
            attempt=handling.delivery.attempt,
            sent_at=event.time,
        )

    @property
    def requirements(self) -> list[str]:
        """Return the capabilities under "requirements" in the goal's data, for `registry.discover`. Raise
        RemoteProtocolError for anything but a list of names."""
        given: object = self.data.get("requirements", [])
        listed = cast("list[object]", given) if isinstance(given, list) else [given]
        names = [name for name in listed if isinstance(name, str)]
        if not isinstance(given, list) or len(names) < len(listed):
            raise RemoteProtocolError(
                f"goal {self.event_type!r} has requirements={clip(repr(cast(object, given)), 80)}; "
                'give a list of names of capabilities: ["search", "translate"]'
            )
        return names

    async def dispatch(self, event_type: str, data: Data, response_event: str | None = None) -> str:
        """Make a request of this goal's plan, checked and counted like any other; return its id. The plan waits for the
        answer, named `response_event`: `on_transition` gets it, or the plan's state machine continues with it."""
        handling = _handling_of(None)
        must_be_in_hand(self, handling)
        payload = json_object(f"the data of {event_type!r}", data)
        reply = ExpectedReply(response_event or completion_of(event_type))
        opened = await planning.machine.MachineInHand(handling).request(AgentRequest(event_type, payload, reply))
        if opened is None:
            raise UnknownEvent(f"no agent takes {event_type!r}; start one that does, and look at the event's name")
        return opened


class PlanContext:
    """Plan of the present delivery, as a working copy. Its changes are saved together with all other effects.

    `results` and `state` may be changed in place; each of their keys is a row of its own. `record` is the plan's row.
    `plan_id`, `status`, `current_state`, `goal_event`, `goal_data`, `response_event`, `parent_plan_id`, `session_id`,
    `tenant_id` and `user_id` are fields of it. `state_machine` maps the names of its states to the states; empty
    without a state machine. `context`, in all calls, is the handler's.
    """

    def __init__(self, handling: Handling) -> None:
        self._handling = handling
        self._machine = planning.machine.MachineInHand(handling)

    @classmethod
    async def create_from_goal(
        cls,
        goal: GoalContext,
        context: PlatformContext,
        *,
        state_machine: StateMachine | None = None,
        current_state: str | None = None,
        status: str = PlanStatus.RUNNING,
    ) -> "PlanContext":
        """Return the plan of this goal, with a state machine.

        Raises ConfigError with every fault of the state machine.

        Args:
            goal: the goal of the present delivery.
            context: the context of the present delivery.
            state_machine: states by their names; by default those of `on_goal`. An LLM plan has none: give {}, or
                nothing if `on_goal` declares none.
            current_state: first state; by default the initial state of the state machine, or START without one.
            status: first status; "running" by default.
        """
        handling = context.handling
        if status not in list(PlanStatus):
            raise LocalProtocolError(f"status={status!r} is none of {', '.join(PlanStatus)}")
        must_be_in_hand(goal, handling)
        made = cls(handling)
        if state_machine:
            made._machine.begin(states_of(state_machine), current_state or initial_of(state_machine))
        elif state_machine is None and made.state_machine:
            made.current_state = current_state or made.current_state
        else:
            made._machine.drop()
            made.current_state = current_state or START
        if status != PlanStatus.PENDING:  # a plan whose goal was taken is past that
            trigger = next(trigger for trigger, moves in TABLE.items() if status in moves.values())
            handling.apply(PlanChange(move(made.record, trigger, handling.services.clock.now())))
        return made

    @classmethod
    async def restore(cls, plan_id: str | None, context: PlatformContext | None = None) -> "PlanContext | None":
        """Return a plan of this planner, by its id or by the reply key of the present event; None if there is none. It
        becomes the plan of this delivery: a change of the plan in the meantime runs the handler again."""
        handling = _handling_of(context)
        if handling.has_plan and plan_id in (handling.plan.plan_id, handling.event.correlation_id):
            return cls(handling)
        found = await handling.services.store.plans.state(plan_id) if plan_id else None
        if found is None:
            return await cls.restore_by_correlation(plan_id, context)
        return _take_up(handling, found)

    @classmethod
    async def restore_by_correlation(
        cls, correlation_id: str | None, context: PlatformContext | None = None
    ) -> "PlanContext | None":
        """Return the plan by its own id, the id of its goal, or the id of one of its requests; None if there is
        none."""
        handling = _handling_of(context)
        if not correlation_id:
            return None
        store = handling.services.store
        asked = await store.plans.expectation(correlation_id)
        for plan_id in (asked.plan_id if asked else None, correlation_id, plan_id_of(correlation_id, handling.agent)):
            found = await store.plans.state(plan_id) if plan_id else None
            if found is not None:
                return _take_up(handling, found)
        return None

    @property
    def record(self) -> PlanRecord:
        """Row of the plan."""
        return self._handling.plan

    @property
    def plan_id(self) -> str:
        """Id of the plan."""
        return self.record.plan_id

    @property
    def goal_event(self) -> str:
        """Name of the goal."""
        return self.record.goal_event

    @property
    def goal_data(self) -> JsonObject:
        """Data of the goal."""
        return self.record.goal_data

    @property
    def response_event(self) -> str | None:
        """Name of the goal's answer; None for a goal without one."""
        return self.record.answer_event

    @property
    def correlation_id(self) -> str | None:
        """Reply key of the goal."""
        return self.record.answer_key

    @property
    def parent_plan_id(self) -> str | None:
        """Id of the requesting plan; None for a plan at the root."""
        return self.record.parent_plan_id

    @property
    def session_id(self) -> str | None:
        """Session of the goal."""
        return self.record.lineage.session_id

    @property
    def tenant_id(self) -> str:
        """Tenant of the goal."""
        return self.record.lineage.tenant_id

    @property
    def user_id(self) -> str:
        """User of the goal."""
        return self.record.lineage.user_id

    @property
    def status(self) -> PlanStatus:
        """Status of the plan, with the changes of this handler."""
        return self.record.status

    @property
    def state_machine(self) -> Mapping[str, StateConfig]:
        """States by their names; empty without a state machine."""
        return self._handling.values.machine

    @property
    def results(self) -> dict[str, Json]:
        """Results by the name of the requesting state; outside of a state machine, by the name of the event. A complete
        plan has its own result under "final"."""
        results = self._handling.values.results
        return results if self.status is not PlanStatus.COMPLETED else {FINAL: self.record.result, **results}

    @property
    def state(self) -> dict[str, Json]:
        """Notes of the planner."""
        return self._handling.values.state

    @property
    def current_state(self) -> str:
        return self.record.current_state

    @current_state.setter
    def current_state(self, state: str) -> None:
        if not self.state_machine:
            self._handling.apply(PlanChange(replace(self.record, current_state=state)))
        elif state in self.state_machine:
            self._machine.enter(state)
        else:
            raise LocalProtocolError(f"the plan has no state {state!r}; there are {', '.join(self.state_machine)}")

    async def save(self) -> None:
        """Do nothing: the working copy is saved at the handler's return, with or without this call."""

    def get_next_state(self, event: "EventContext | TransitionContext") -> str | None:
        """Return the state after the current one for this `event`; None without a fitting transition."""
        return state_after(self._view, event_of(event))

    def update_state(self, event: "EventContext | TransitionContext") -> None:
        """Move to the `event`'s next state; `execute_next` carries this state out."""
        if state := self.get_next_state(event):
            self._machine.enter(state)

    def has_next(self) -> bool:
        """Tell whether `execute_next` can act without an event. False while the state's answer is missing or its
        request has no taker."""
        return self._view.has_next

    def is_complete(self) -> bool:
        """Tell whether the plan has ended, or its state machine is in a terminal state."""
        config = self._view.config
        return self.status.is_final or (config is not None and config.is_terminal)

    async def execute_next(self, trigger_event: "EventContext | TransitionContext | None" = None) -> None:
        """Carry out the entered state if this is still to do; else move on, by the `trigger_event`, or by
        `default_next` after the state's answer. Without a way on, do nothing."""
        self._must_be_open()
        await self._machine.step(event_of(trigger_event) if trigger_event else None)

    async def finalize(self, result: Any = None) -> None:
        """End the plan and answer its goal; a failing terminal state answers with its failure. The default `result` is
        that of the terminal state, or all results."""
        if not self.status.is_final:
            await self._machine.finish(json_object("the end of the plan", {"result": result})["result"])

    async def pause(self, reason: str = "user_input_required") -> str:
        """Wait for a person to resume the plan, as long as its deadline allows; return the id of this wait. `reason` is
        shown to the person. Answers to earlier requests may arrive meanwhile: they are kept, and used afterwards."""
        self._must_be_open()
        return await self._machine.pause(reason)

    async def resume(self, input_data: Mapping[str, Any]) -> None:
        """Continue with this `input_data`, kept as `results["user_input"]`. A plan without a need to be resumed stays
        as it is."""
        if not self.status.is_final:
            await self._machine.resume(json_object("the input", input_data))

    async def cancel(self, reason: str = "cancelled by its planner") -> None:
        """End the plan as cancelled, for this `reason`; an ended plan stays as it is."""
        if not self.status.is_final:
            handling = self._handling
            handling.apply(cancel(self.record, reason, handling.open_now, handling.moment()))

    @property
    def _view(self) -> MachineView:
        return self._machine.view(self._handling.open_now)

    def _must_be_open(self) -> None:
        if self.status.is_final:
            raise LocalProtocolError(f"plan {self.plan_id} is {self.status}; nothing follows")


class TransitionContext(Struct, frozen=True):
    """End of a plan's wait: the expected event has come, or its time is over. `event_type` and `correlation_id` are
    those of the `event`."""

    event: EventContext
    """Closing event."""
    plan: PlanContext
    """Plan of the wait."""
    what_happened: str
    """Description of the event for the model."""
    data: Any
    """Data of the event."""

    @property
    def event_type(self) -> str:
        """Name of the event."""
        return self.event.type

    @property
    def correlation_id(self) -> str | None:
        """Reply key of the event."""
        return self.event.correlation_id


def must_be_in_hand(goal: GoalContext, handling: Handling) -> None:
    if goal.goal_id != handling.plan.goal_id:
        raise LocalProtocolError("the goal is not that of the delivery in hand, and one delivery works on one plan")


def _handling_of(context: PlatformContext | None) -> Handling:
    handling = context.handling if context else current_handling()
    if handling is None:
        raise LocalProtocolError("plans are restored inside a handler; outside, use platform.plan(plan_id)")
    return handling


def _take_up(handling: Handling, found: PlanState) -> PlanContext | None:
    plan = found.plan
    if (plan.agent, plan.lineage.tenant_id) != (handling.agent, handling.event.tenant_id):
        return None
    if plan.fork is not None:
        raise LocalProtocolError(f"plan {plan.plan_id} is a {plan.fork.title}: no handler acts for it")
    if not handling.has_plan:
        handling.take_up(found)
    elif handling.plan.plan_id != plan.plan_id:
        raise LocalProtocolError(f"this delivery works on plan {handling.plan.plan_id}; one delivery, one plan")
    return PlanContext(handling)


def event_of(given: EventContext | TransitionContext) -> EventContext:
    """Return the event of a handler's argument; a transition stands for its event."""
    return given.event if isinstance(given, TransitionContext) else given
