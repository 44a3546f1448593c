"""Judgement of a model's decision: it parses, is offered, its payload fits, it is legal now, within limits; in this
order.

Each refusal is worded for the model: found, wanted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from itertools import islice
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.errors import DecisionError, LimitExceeded, NotAllowed, PayloadMismatch, UnknownEvent
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.decisions import (
    AcceptedDecision,
    CompleteAction,
    DelegateAction,
    PlanAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    WaitAction,
    rejection_of,
    requests_in,
)
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plans import PlanRecord, pursuit_of
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, describe, violations
from soorma_ai.kernel.domain.slices import Slices
from soorma_ai.kernel.domain.values import Json, JsonObject, clip
from soorma_ai.kernel.rules.choices.offer import Offer
from soorma_ai.kernel.rules.plans.forks import gate_of_fork
from soorma_ai.kernel.rules.schemas.nulls import strip_wire_nulls
from soorma_ai.kernel.rules.waits.gates import approval_for


class Situation(Struct, frozen=True):
    """Facts to judge a decision by. `in_flight` counts open expectations, `repeats` this decision in this state.
    `rejected` are people's rejections of the same request, in their words."""

    plan: PlanRecord
    offer: Offer
    spent: Spent
    now: datetime
    in_flight: int = 0
    repeats: int = 0
    rejected: Mapping[str, str] = field(default_factory=dict[str, str])


NAME_CHARS = 200
MOST_NAMED, MOST_COMPARED = 50, 200
_WORDS = re.compile(r"[a-z0-9]+")

Check = Callable[[PlannerDecision, Situation], None]


def event_offered(name: str, offer: Offer) -> EventDefinition:
    """Return the definition of an offered event. Raise UnknownEvent, with the likely names, for any other."""
    if (found := offer.event(name)) is None:
        raise UnknownEvent(describe_unknown("event", name, [event.event_name for event in offer.events]))
    return found


def must_be_offered(decision: PlannerDecision, situation: Situation) -> None:
    offer = situation.offer
    match decision.next_action:
        case PublishAction(event_type=name):
            event_offered(name, offer)
        case PublishAllAction() as action:
            _check_each(action, must_be_offered, situation)
        case DelegateAction(target_planner=planner, goal_event=goal):
            if offer.goal(planner, goal) is None:
                known = [f"{d.planner}/{d.goal.event_name}" for d in offer.delegates]
                raise UnknownEvent(describe_unknown("planner and goal", f"{planner}/{goal}", known))
        case WaitAction() | CompleteAction():
            pass


def must_fit(decision: PlannerDecision, situation: Situation) -> None:
    offer = situation.offer
    match decision.next_action:
        case PublishAction(event_type=name, data=data):
            check_payload(f"data for event {name!r}", offer.event(name), data)
        case PublishAllAction() as action:
            _check_each(action, must_fit, situation)
        case DelegateAction(target_planner=planner, goal_event=goal, goal_data=data):
            check_payload(f"data for goal {goal!r}", offer.goal(planner, goal), data)
        case CompleteAction(outcome="achieved", result=result):
            faults = violations(offer.result_schema or ANY_OBJECT, result)
            if faults:
                raise PayloadMismatch(f"the result does not match its schema: {describe(faults)}")
        case CompleteAction() | WaitAction():
            pass


def checks_of(decision: PlannerDecision, offer: Offer) -> list[tuple[JsonObject, Json]]:
    """Return the values that `must_fit` judges, each with its schema."""
    match decision.next_action:
        case PublishAction() | PublishAllAction():
            asked = [(offer.event(name), data) for name, data, _ in requests_in(decision)]
            return [(definition.payload_schema, data) for definition, data in asked if definition is not None]
        case DelegateAction(target_planner=planner, goal_event=goal, goal_data=data):
            definition = offer.goal(planner, goal)
            return [(definition.payload_schema, data)] if definition is not None else []
        case CompleteAction(outcome="achieved", result=result):
            return [(offer.result_schema or ANY_OBJECT, result)]
        case CompleteAction() | WaitAction():
            return []


def must_be_possible_at_once(decision: PlannerDecision, at_once: int | None) -> None:
    """Raise NotAllowed for more requests together than may ever be open, before anything is made of them."""
    action = decision.next_action
    if isinstance(action, PublishAllAction) and at_once is not None and len(action.requests) > at_once:
        raise NotAllowed(f"{len(action.requests)} requests were to be published together, and at most {at_once} may be")


def must_not_have_been_rejected(decision: PlannerDecision, situation: Situation) -> None:
    for event_type, data, target in requests_in(decision) if situation.rejected else ():
        words = situation.rejected.get(rejection_of(event_type, data, target))
        if words is not None:
            raise NotAllowed(
                f"a person rejected {event_type!r} with exactly this data in this plan ({words}), and is not asked the "
                "same again: change the data by what they said, or choose another step"
            )


def approval_needed(decision: PlannerDecision, situation: Situation) -> Approval | None:
    """Return the approval without which this is not done; code decides that, never the model."""
    match decision.next_action:
        case PublishAction(data=data) | DelegateAction(goal_data=data):
            definition = definition_of(decision, situation.offer)
        case PublishAllAction() | WaitAction() | CompleteAction():
            return None
    if definition is None:
        return None
    fork = situation.plan.fork
    return approval_for(definition, data, situation.plan.goal_data) if fork is None else gate_of_fork(fork, definition)


def must_be_legal(decision: PlannerDecision, situation: Situation) -> None:
    match decision.next_action:
        case WaitAction(expected_event=name):
            if situation.offer.wait(name) is None:
                known = [awaited.definition.event_name for awaited in situation.offer.waits]
                raise NotAllowed(describe_unknown("event to wait for", name, known))
        case DelegateAction(target_planner=planner, goal_event=goal, goal_data=data):
            if pursuit_of(planner, goal, data) in situation.plan.ancestry:
                raise NotAllowed(
                    f"{planner!r} pursues {goal!r} with this very data already, and this plan is part of that: giving "
                    "it back would go round in circles"
                )
        case PublishAction() | PublishAllAction() | CompleteAction():
            pass


def must_be_within_limits(decision: PlannerDecision, situation: Situation) -> None:
    limits = situation.plan.limits
    deadline = situation.plan.deadline
    if deadline is not None and situation.now >= deadline:
        raise LimitExceeded("deadline", f"the plan had until {deadline}")
    if limits.max_repeats is not None and situation.repeats >= limits.max_repeats:
        raise LimitExceeded("max_repeats", f"the same decision in the same state was made {situation.repeats} times")
    use, spent, depth = _limit_use(decision.next_action), situation.spent.actions, situation.plan.depth
    if use.open:
        _must_have_room(use.open, situation)
    if use.actions and limits.max_actions is not None and spent + use.actions > limits.max_actions:
        asked = f", and {use.actions} more were wanted" if use.actions > 1 else ""
        raise LimitExceeded("max_actions", f"{spent} of {limits.max_actions} used{asked}")
    if use.depth and limits.max_depth is not None and depth >= limits.max_depth:
        raise LimitExceeded("max_depth", f"this planner is number {depth} of {limits.max_depth} in a row")


class _LimitUse(Struct, frozen=True):
    """Amounts of a plan's limits that a decision uses."""

    open: int = 0
    actions: int = 0
    depth: int = 0


def _limit_use(action: PlanAction) -> _LimitUse:
    match action:
        case PublishAction():
            return _LimitUse(open=1, actions=1)
        case PublishAllAction(requests=requests):
            return _LimitUse(open=len(requests), actions=len(requests))
        case DelegateAction():
            return _LimitUse(open=1, actions=1, depth=1)
        case WaitAction():
            return _LimitUse(open=1)
        case CompleteAction():
            return _LimitUse()


def _must_have_room(more: int, situation: Situation) -> None:
    """Raise NotAllowed, and not LimitExceeded: each answer closes an open request, and the model may ask for fewer."""
    most, together = situation.plan.limits.max_parallel, situation.in_flight + more
    if most is not None and together > most:
        free = max(0, most - situation.in_flight)
        raise NotAllowed(
            f"{more} more would make {together} open at once, and at most {most} may be: "
            f"ask for {f'at most {free}' if free else 'nothing more'} now"
        )


CHECKS: tuple[Check, ...] = (
    must_be_offered,
    must_fit,
    must_not_have_been_rejected,
    must_be_legal,
    must_be_within_limits,
)


def judge(decision: PlannerDecision, situation: Situation) -> AcceptedDecision:
    """Accept a decision that `prepare_decision` made. Raise DecisionError (ask again) or LimitExceeded (do not)."""
    for check in CHECKS:
        check(decision, situation)
    return _accept(decision, situation)


def _accept(decision: PlannerDecision, situation: Situation) -> AcceptedDecision:
    offer = situation.offer
    accepted = AcceptedDecision(decision, definition_of(decision, offer), approval_needed(decision, situation))
    match decision.next_action:
        case WaitAction(expected_event=name):
            awaited = offer.wait(name)
            return replace(accepted, producers=awaited.producers if awaited else ())
        case PublishAllAction(requests=requests):
            parts = tuple(_accept(PlannerDecision(next_action=request), situation) for request in requests)
            return replace(accepted, parts=parts)
        case PublishAction() | DelegateAction() | CompleteAction():
            return accepted


def _check_each(action: PublishAllAction, check: Check, situation: Situation) -> None:
    """Check each request as if it were alone; the first that is refused refuses them all."""
    for number, request in enumerate(action.requests, 1):
        try:
            check(PlannerDecision(next_action=request), situation)
        except DecisionError as error:
            raise type(error)(f"request {number} of {len(action.requests)}: {error}") from error


def definition_of(decision: PlannerDecision, offer: Offer) -> EventDefinition | None:
    match decision.next_action:
        case PublishAction(event_type=name):
            return offer.event(name)
        case DelegateAction(target_planner=planner, goal_event=goal):
            return offer.goal(planner, goal)
        case WaitAction(expected_event=name):
            awaited = offer.wait(name)
            return awaited.definition if awaited else None
        case PublishAllAction() | CompleteAction():
            return None


def prepare_decision(decision: PlannerDecision, offer: Offer) -> Slices[PlannerDecision]:
    """Return the decision as it would be carried out. Strict providers must send every optional field; null there
    means absent, unless the schema knows null."""
    action, definition = decision.next_action, definition_of(decision, offer)
    update: dict[str, object] = {}
    match action:
        case PublishAction(data=data) if definition:
            update["data"] = yield from strip_wire_nulls(data, definition.payload_schema)
        case PublishAllAction(requests=requests):
            each: list[PublishAction] = []
            for request in requests:
                prepared = yield from prepare_decision(PlannerDecision(next_action=request), offer)
                each.append(cast(PublishAction, prepared.next_action))
            update["requests"] = tuple(each)
        case DelegateAction(goal_data=data) if definition:
            update["goal_data"] = yield from strip_wire_nulls(data, definition.payload_schema)
        case CompleteAction(outcome="achieved", result=result):
            update["result"] = yield from strip_wire_nulls(result, offer.result_schema or ANY_OBJECT)
        case PublishAction() | DelegateAction() | WaitAction() | CompleteAction():
            return decision
    if all(vars(action)[name] == value for name, value in update.items()):
        return decision
    return decision.model_copy(update={"next_action": action.model_copy(update=update)})


def check_payload(what: str, definition: EventDefinition | None, data: JsonObject) -> None:
    """Raise PayloadMismatch for a misfit of `what`, with path, rule, found and wanted."""
    faults = violations(definition.payload_schema, data) if definition else []
    if faults:
        raise PayloadMismatch(f"{what} does not match its schema: {describe(faults)}")


def describe_unknown(what: str, found: str, known: Sequence[str]) -> str:
    """Return bounded words, found in bounded time: a model may give any name, and thousands may be known."""
    more = f" and {len(known) - MOST_NAMED:,} more" if len(known) > MOST_NAMED else ""
    hint = closest(found, known)
    return f"{what} {clip(found, NAME_CHARS)!r} is not offered{hint}. Possible now: {_names(known)}{more}."


def closest(found: str, known: Sequence[str]) -> str:
    """Return the one of the known names that is likely meant, with words before it; empty without one."""
    close = get_close_matches(found[:NAME_CHARS], _alike(found, known), n=1)
    return f"; did you mean {close[0]!r}" if close else ""


def _alike(found: str, known: Sequence[str]) -> list[str]:
    """Return those of the known names that may be meant: where there are many, those with a word of it."""
    if len(known) <= MOST_COMPARED:
        return [*known]
    words = {*_WORDS.findall(found[:NAME_CHARS].lower())}
    return [*islice((name for name in known if not words.isdisjoint(_WORDS.findall(name.lower()))), MOST_COMPARED)]


def _names(known: Sequence[str]) -> str:
    return ", ".join(known[:MOST_NAMED]) or "none"
