"""Step of a plan with a state machine: an event leads to a state, and the state makes a request.

A step is decided here, and carried out like any other decision: judged, held by its gate, counted.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.effects import Close, DropValue, Effect, PlanChange, SaveValue
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.plans import PlanRecord, ValueKind
from soorma_ai.kernel.domain.replies import ExpectedReply, Failure
from soorma_ai.kernel.domain.schemas import describe, violations
from soorma_ai.kernel.domain.states import RESUMED, USER_INPUT, StateAction, StateConfig, States
from soorma_ai.kernel.domain.values import Json, JsonObject, span_of
from soorma_ai.kernel.rules.plans.give_up import failure_of
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.pausing import REMINDERS, start_clock, stop_clock
from soorma_ai.kernel.rules.plans.requests import PlanQuestion
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.state_machine.machine import (
    as_seen,
    error_of,
    expected_reply,
    is_failure,
    next_state,
    result_in,
)
from soorma_ai.kernel.rules.state_machine.templates import fill
from soorma_ai.kernel.rules.waits.opening import Moment

NO_TRANSITION = "no_transition"
PAUSE_REASON = "pause_reason"
_REASON, _CAME = "reason", "came"


class MachineView(Struct, frozen=True):
    """Plan at the start of a step: its state machine, its values, its wait. `state` is its author's; `pause` is the
    state of a pause. `closed` is the closed wait with its closing event, in the present delivery."""

    plan: PlanRecord
    states: States
    results: JsonObject
    state: JsonObject
    pause: JsonObject = field(default_factory=dict[str, Json])
    open_now: Sequence[Expectation] = ()
    closed: tuple[Expectation, EventEnvelope] | None = None

    @property
    def config(self) -> StateConfig | None:
        return self.states.get(self.plan.current_state)

    @property
    def seen(self) -> EventEnvelope | None:
        """Name of the event, for transitions."""
        return as_seen(*self.closed) if self.closed else None

    @property
    def values(self) -> JsonObject:
        """Values that conditions and templates see of the plan."""
        plan = self.plan
        ids = {"plan_id": plan.plan_id, "goal_id": plan.goal_id, "session_id": plan.lineage.session_id}
        return {"goal_data": plan.goal_data, "results": self.results, "state": self.state, **ids}

    @property
    def is_held(self) -> bool:
        """Return True for a plan in need of a person's resumption, after any other event too."""
        return is_held(self.open_now)

    @property
    def is_waiting(self) -> bool:
        """Return True while the state's request is open, or has no taker."""
        if not self.plan.is_due:
            return any(e.id == self.plan.awaits or e.event_type == RESUMED for e in self.open_now)
        asks = self.config.action if self.config else None
        offers = (e for e in self.open_now if e.kind is ExpectationKind.OFFER)
        return asks is not None and any(asks.event_type in offer.event_types for offer in offers)

    @property
    def has_next(self) -> bool:
        """Return True where a step follows without an event."""
        config = self.config
        if config is None or config.is_terminal:
            return False
        return (self.plan.is_due or config.default_next is not None) and not self.is_waiting


class AgentRequest(Struct, frozen=True):
    """Request of a state to any taker of the event."""

    event_type: str
    data: JsonObject
    reply: ExpectedReply


class Move(Struct, frozen=True):
    """Plan in its new state, and the state's request `asks`."""

    outcome: PlanChange
    asks: AgentRequest | PlanQuestion | None = None


def enter(plan: PlanRecord, state: str) -> PlanRecord:
    """Enter a state; its request is still to be made."""
    return replace(plan, current_state=state, is_due=True)


def is_held(open_now: Iterable[Expectation]) -> bool:
    """Tell whether a plan with these waits needs a person's resumption, after any other event too."""
    return any(wait.event_type == RESUMED and wait.kind is ExpectationKind.WAIT for wait in open_now)


def keep_result(plan: PlanRecord, closed: tuple[Expectation, EventEnvelope] | None) -> tuple[Effect, ...]:
    """Keep the result in a wait's closing event under the name of the requesting state."""
    if closed is None:
        return ()
    met, seen = closed[0], as_seen(*closed)
    if met.event_type == RESUMED:
        return (_result(plan, USER_INPUT, seen.data),)
    if met.kind is ExpectationKind.OFFER:
        return ()
    key = plan.current_state if met.id == plan.awaits else met.subject
    return (_result(plan, key, result_in(seen)),)


def state_after(view: MachineView, event: EventEnvelope) -> str | None:
    """Return the next state for the event. A resumed plan continues with the events of its pause."""
    config = view.config
    if config is None:
        return None
    found = next_state(config, event, view.values)
    if found is not None or event.type != RESUMED:
        return found
    kept = view.pause.get(_CAME)
    if isinstance(kept, dict) and isinstance(kept["data"], dict):
        before = event.model_copy(update={"type": kept["type"], "data": kept["data"]})
        found = next_state(config, before, view.values)
    has_come = kept is not None or config.action is None
    return found or (config.default_next if has_come else None)


def step(view: MachineView, event: EventEnvelope | None, now: datetime) -> Move | None:
    """Carry out the state that is due, or that the event leads to, or that follows without one; None if none is."""
    if event is None and view.is_waiting:
        return None
    state: str | None = view.plan.current_state
    if not view.plan.is_due:
        state = state_after(view, event) if event else view.config and view.config.default_next
    if not state:
        return None
    config = _config(view, state)
    while config.passes_on is not None:
        state = config.passes_on
        config = _config(view, state)
    plan = enter(view.plan, state)
    shown = (PAUSE_REASON,) if _shows_reason(view) else ()
    left = replace(view, plan=plan, state={key: value for key, value in view.state.items() if key not in shown})
    clock = start_clock(plan, now) if view.is_held else PlanChange(plan)
    plan = clock.plan
    effects = (
        *clock.effects,
        *_close([e for e in view.open_now if e.id == view.plan.awaits or e.event_type == RESUMED], now),
        *(DropValue(plan.plan_id, ValueKind.PAUSE, key) for key in view.pause),
        *(DropValue(plan.plan_id, ValueKind.STATE, key) for key in shown),
    )
    if config.action is None:
        return Move(PlanChange(replace(plan, is_due=False, awaits=None), effects))
    return Move(PlanChange(replace(plan, awaits=None), effects), _asks(config, config.action, left.values))


def rest(view: MachineView) -> PlanQuestion | None:
    """Let a plan rest in a state that asks for nothing: for people, or the events that its transitions name."""
    config = view.config
    if config is None or view.plan.is_due or config.action or not config.transitions or view.open_now:
        return None
    first, *others = dict.fromkeys(transition.on_event for transition in config.transitions)
    return PlanQuestion(
        ExpectedReply(first, tuple(others)), "event_awaited", config.description or f"The plan waits for {first}."
    )


def result_of(view: MachineView, given: Json) -> Json:
    """Return the final result of the plan: the given one, else its state's."""
    config = view.config
    if given is not None or config is None or config.fails:
        return given
    return dict(view.results) if config.result is None else fill(config.result, view.values)


def end(view: MachineView, result: Json, result_schema: JsonObject) -> Json | Failure:
    """Return the result with which the plan ends in its state, or the failure."""
    config = view.config
    if config and config.fails:
        seen = view.seen
        why = f": {error_of(seen)[1]}" if seen and is_failure(seen) else ""
        words = (config.description or f"ended in state {config.state_name!r}") + why
        return failure_of(words) if config.outcome == "not_achieved" else Failure("failed", words)
    if faults := violations(result_schema, result):
        return Failure("payload_mismatch", f"the result does not match the goal's response schema: {describe(faults)}")
    return result


def pause(view: MachineView, reason: str, now: datetime) -> tuple[PlanChange, PlanQuestion]:
    """Wait until a person resumes the plan; a root's time stands still. The state's request is awaited all the same.
    The reason is shown among the author's notes as well, if they have none of that name."""
    plan, seen, config = view.plan, view.seen, view.config
    clock = stop_clock(plan, now)
    plan = clock.plan
    effects: list[Effect] = [*clock.effects, *_close(_waits(view), now)]
    if seen is not None and not plan.is_due:
        effects.append(_note_pause(plan, seen))
    if config is not None and config.action is None and config.passes_on is None:
        plan = replace(plan, is_due=False)  # nothing is left to ask: what resumes the plan leads on
    effects.append(SaveValue(plan.plan_id, ValueKind.PAUSE, _REASON, reason))
    if PAUSE_REASON not in view.state or _shows_reason(view):
        effects.append(SaveValue(plan.plan_id, ValueKind.STATE, PAUSE_REASON, reason))
    awaits = next((e.id for e in view.open_now if e.id == plan.awaits and e.kind is not ExpectationKind.WAIT), None)
    reminders = REMINDERS if plan.deadline is None else ()
    question = PlanQuestion(ExpectedReply(RESUMED), reason, reason, from_clients=True, reminders=reminders)
    return PlanChange(replace(plan, awaits=awaits), tuple(effects)), question


def hold(view: MachineView, now: datetime) -> PlanChange:
    """Keep an event for the plan's resumption."""
    kept: tuple[Effect, ...] = ()
    if view.seen is not None and view.closed is not None and view.closed[0].id == view.plan.awaits and view.states:
        kept = (_note_pause(view.plan, view.seen),)
    return PlanChange(move(view.plan, StatusTrigger.REST, now), kept)


def resume(view: MachineView, data: JsonObject, moment: Moment) -> PlanChange | None:
    """End the plan's wait for people. None: it has no such wait.

    Raises LocalProtocolError for a plan held by a gate.
    """
    waits = _waits(view)
    if not waits:
        if any(e.kind is ExpectationKind.GATE for e in view.open_now):
            raise LocalProtocolError("the plan is held for an approval, which only a person's answer gives")
        return None
    clock = start_clock(view.plan, moment.now)
    going = clock.then(append_step(move(clock.plan, StatusTrigger.GO, moment.now), StepKind.RESUMED, moment))
    return PlanChange(going.plan, (*_close(waits, moment.now), *going.effects, _result(view.plan, USER_INPUT, data)))


def lead(view: MachineView, event: EventEnvelope, awaited: Sequence[str]) -> EventEnvelope:
    """The event that resumes a plan, by the name under which a transition takes it: its own, or one that was
    `awaited`."""
    found = (name for name in (event.type, *awaited) if state_after(view, event.model_copy(update={"type": name})))
    return event.model_copy(update={"type": next(found, RESUMED)})


def without_way(plan: PlanRecord, seen: EventEnvelope | None) -> Failure:
    where = f"in state {plan.current_state!r}"
    if seen is None:
        return Failure(NO_TRANSITION, f"nothing leads on {where}")
    if is_failure(seen):
        code, words = error_of(seen)
        return Failure(code, f"{seen.type} {where}, and no transition takes it: {words} ({code})")
    return Failure(NO_TRANSITION, f"{seen.type} came {where}, and no transition takes it")


def _asks(config: StateConfig, action: StateAction, values: JsonObject) -> AgentRequest | PlanQuestion:
    data = fill(action.data or {}, values)
    assert isinstance(data, dict)
    if not action.is_question:
        return AgentRequest(action.event_type, data, expected_reply(config, action))
    given = data.get("timeout_seconds")
    timeout = None if given is None else span_of("timeout_seconds", given).total_seconds()
    words, schema = data.get("question") or data.get("message") or config.description, data.get("response_schema")
    reply = expected_reply(config, action, timeout=timeout)
    return PlanQuestion(reply, "input_required", str(words), schema if isinstance(schema, dict) else None, data)


def _config(view: MachineView, state: str) -> StateConfig:
    found = view.states.get(state)
    if found is None:
        raise LocalProtocolError(f"the plan is in state {state!r}, which its machine does not have")
    return found


def _waits(view: MachineView) -> list[Expectation]:
    return [e for e in view.open_now if e.kind is ExpectationKind.WAIT]


def _close(opened: Sequence[Expectation], now: datetime) -> list[Close]:
    """Close them; if one is closed by now, the handler runs again."""
    return [Close(one.id, ExpectationStatus.CLOSED, now, first=True) for one in opened]


def _result(plan: PlanRecord, key: str, value: Json) -> SaveValue:
    return SaveValue(plan.plan_id, ValueKind.RESULT, key, value)


def _note_pause(plan: PlanRecord, seen: EventEnvelope) -> SaveValue:
    return SaveValue(plan.plan_id, ValueKind.PAUSE, _CAME, {"type": seen.type, "data": seen.data})


def _shows_reason(view: MachineView) -> bool:
    """Tell whether the reason among the author's notes is the platform's."""
    return _REASON in view.pause and view.state.get(PAUSE_REASON) == view.pause[_REASON]
