"""Recorded answers before today's rules. Pure: no part of a store is in reach, and nothing to publish with."""

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import DecisionError, LimitExceeded
from soorma_ai.features.trials.records import DecisionTrial, Outcome
from soorma_ai.kernel.domain.decisions import (
    AcceptedDecision,
    CompleteAction,
    DelegateAction,
    PlannerDecision,
    PublishAction,
    PublishAllAction,
    Showing,
    WaitAction,
    rejection_of,
    requests_in,
)
from soorma_ai.kernel.domain.history import JournalEntry, Said, Step, StepKind
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.slices import Slices
from soorma_ai.kernel.domain.values import Json, JsonObject, clip
from soorma_ai.kernel.rules.choices.form import form_of
from soorma_ai.kernel.rules.choices.lookups import must_be_possible, parse_lookup, refuse_unseen, unseen_in
from soorma_ai.kernel.rules.choices.offer import WAIT, Offer, WaitChoice, make_offer
from soorma_ai.kernel.rules.decisions.judge import Situation, must_be_possible_at_once, prepare_decision
from soorma_ai.kernel.rules.decisions.prompt import offer_inputs
from soorma_ai.kernel.rules.decisions.wire_form import parse_decision
from soorma_ai.kernel.rules.prompting.references import resolve_decision, results_of, steps_referred_to

# Inputs of a prompt for one step of a plan.
OF_A_STEP = frozenset({"choices", "remaining_actions", "at_once", "refers"})
REASON_CHARS = 1_000
MOST_LINES = 200
_SENT = (StepKind.PUBLISHED, StepKind.DELEGATED, StepKind.HELD)


class StepQuestion(Struct, frozen=True):
    """Question about one step, by today's registry: its offer with the recorded choices, and their showing. `inputs`
    are those of its prompt."""

    plan: PlanRecord
    entry: JournalEntry
    inputs: JsonObject
    offer: Offer
    showing: Showing

    @property
    def form(self) -> JsonObject:
        return form_of(self.offer, self.showing, self.plan.limits.max_parallel, refers=self.refers)

    @property
    def refers(self) -> bool:
        return self.inputs["refers"] is True


def is_of_step(inputs: Mapping[str, Json]) -> bool:
    return inputs.keys() >= OF_A_STEP


def ask_today(
    plan: PlanRecord, entry: JournalEntry, inputs: JsonObject, shown: Showing, registered: Sequence[RegisteredEvent]
) -> StepQuestion:
    """Return the question with today's definitions of the recorded choices. Choices without a definition are gone from
    it; events that are new since then are not added."""
    own = [one for one in registered if one.agent == plan.agent]
    awaits = [one.definition for one in own if one.role is EventRole.AWAITS]
    known = make_offer(plan.agent, registered, awaits, _result_schema(plan, own))
    offer = _narrow(known, {*shown.schemas, *shown.lines, *shown.added})
    schemas, lines, added = (
        tuple(name for name in names if name in offer.choices) for names in (shown.schemas, shown.lines, shown.added)
    )
    showing = Showing(schemas, lines, added, shown.hidden)
    inputs = {**inputs, **offer_inputs(offer, showing, plan.limits.max_parallel)}
    return StepQuestion(plan, entry, inputs, offer, showing)


def _result_schema(plan: PlanRecord, own: Iterable[RegisteredEvent]) -> JsonObject | None:
    goals = (one.definition for one in own if one.role is EventRole.TAKES_AS_GOAL)
    return next((goal.response_schema for goal in goals if goal.event_name == plan.goal_event), None)


def _narrow(known: Offer, names: set[str]) -> Offer:
    """Return the offer of these choices. An awaited event needs no definition: an author declares it."""
    waits = {WAIT + one.definition.event_name: one for one in known.waits}
    awaited = [name for name in sorted(names) if name.startswith(WAIT)]
    bare = {name: WaitChoice(EventDefinition(event_name=name.removeprefix(WAIT)), ()) for name in awaited}
    return replace(
        known,
        events=tuple(one for one in known.events if f"publish:{one.event_name}" in names),
        delegates=tuple(one for one in known.delegates if f"delegate:{one.planner}/{one.goal.event_name}" in names),
        waits=tuple(waits.get(name) or bare[name] for name in awaited),
    )


def situation_then(question: StepQuestion, steps: Iterable[Step], decision: PlannerDecision) -> Situation:
    """Return the facts of the recorded moment. The number of repetitions is not among them."""
    plan, inputs = question.plan, question.inputs
    left, most = inputs["remaining_actions"], plan.limits.max_actions
    wanted = {rejection_of(*request) for request in requests_in(decision)}
    return Situation(
        plan,
        question.offer,
        Spent(actions=most - left if most is not None and isinstance(left, int) else 0),
        question.entry.at,
        in_flight=_count_open(plan.limits.max_parallel, left, inputs["at_once"]),
        rejected={one.fingerprint: one.note for one in steps if one.fingerprint and one.fingerprint in wanted},
    )


def _count_open(parallel: int | None, left: Json, at_once: Json) -> int:
    """Return the number of open requests. Where the actions `left` bound the next ones, it is not recorded: 0."""
    if parallel is None or not isinstance(at_once, int) or at_once == left:
        return 0
    return max(0, parallel - at_once)


def read_answer(question: StepQuestion, steps: Sequence[Step]) -> Slices[PlannerDecision | None]:
    """Return the decision of a recorded answer; None for a lookup. Raise DecisionError."""
    entry, offer = question.entry, question.offer
    if lookup := parse_lookup(entry.value):
        must_be_possible(lookup, question.showing, refers=question.refers)
        return None
    said = parse_decision(entry.value, entry.fault, offer.choices)
    must_be_possible_at_once(said, question.plan.limits.max_parallel)
    if numbers := steps_referred_to(said):
        said = resolve_decision(said, results_of(step for step in steps if step.ordinal in numbers))
    decision = yield from prepare_decision(said, offer)
    if unseen := unseen_in(decision, offer, question.showing):
        raise refuse_unseen(unseen, offer)
    return decision


def compare_effects(judged: AcceptedDecision, done: Sequence[Step]) -> tuple[str, tuple[str, ...]]:
    """Compare a decision with the steps that it led to. Return the difference in words, and as a diff of the payload;
    empty without one. Steps of another kind, which an author's code made, are not compared."""
    if isinstance(judged.decision.next_action, CompleteAction):
        return _compare_result(judged.decision.next_action, done)
    parts = judged.parts or (judged,)
    for (name, data, _), part, step in zip(requests_in(judged.decision), parts, done, strict=False):
        if step.kind not in _SENT or step.name != name:
            return "", ()
        was_held = step.kind is StepKind.HELD
        if was_held != (part.approval is not None):
            then, today = ("a person approved", "needs no approval") if was_held else ("was sent", "needs an approval")
            return f"{name} {then} then, and {today} today", ()
        if not was_held and step.data != data:
            return f"{name} has another payload today", diff_values(step.data, data)
    return "", ()


def compare_decisions(then: PlannerDecision, today: PlannerDecision) -> tuple[str, tuple[str, ...]]:
    """Compare two decisions without their reasons and messages. Return the difference in words, and as a diff."""
    (done, data), (wanted, other) = substance_of(then), substance_of(today)
    if done != wanted:
        return f"{done} then, and {wanted} in the trial", diff_values({done: data}, {wanted: other})
    return (f"{done} with another payload", diff_values(data, other)) if data != other else ("", ())


def substance_of(decision: PlannerDecision) -> tuple[str, Json]:
    """Return the effect of a decision in words, and its payload."""
    match decision.next_action:
        case PublishAction(event_type=name, data=data):
            return name, data
        case PublishAllAction(requests=requests, need=need):
            return " and ".join(one.event_type for one in requests), {
                "requests": [one.data for one in requests],
                "need": need,
            }
        case DelegateAction(target_planner=planner, goal_event=goal, goal_data=data):
            return f"{planner}/{goal}", data
        case WaitAction(expected_event=name):
            return f"a wait for {name}", None
        case CompleteAction(outcome="achieved", result=result):
            return "the result", result
        case CompleteAction():
            return "giving up", None


def compare_lookups(then: Json, today: Json) -> tuple[str, tuple[str, ...]]:
    """Compare two answers, at least one of them a lookup. Raise DecisionError."""
    looked, looks = parse_lookup(then), parse_lookup(today)
    if looked is None or looks is None:
        done, wanted = ("a decision", "a lookup") if looked is None else ("a lookup", "a decision")
        return f"{done} then, and {wanted} in the trial", diff_values(then, today)
    return ("another lookup", diff_values(then, today)) if looked != looks else ("", ())


def _compare_result(action: CompleteAction, done: Sequence[Step]) -> tuple[str, tuple[str, ...]]:
    step = next(iter(done), None)
    if step is None or step.kind is not StepKind.COMPLETED or step.data == action.result:
        return "", ()
    return "the plan has another result today", diff_values(step.data, action.result)


def diff_values(then: Json, today: Json) -> tuple[str, ...]:
    return _diff(_spell(then), _spell(today))


def diff_messages(then: Sequence[Said], today: Sequence[Said]) -> tuple[str, ...]:
    return _diff(_lines_of(then), _lines_of(today))


def _spell(value: Json) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False).splitlines()


def _lines_of(messages: Iterable[Said]) -> list[str]:
    return [*chain.from_iterable([f"--- {one.role} ---", *one.content.splitlines()] for one in messages)]


def _diff(then: Sequence[str], today: Sequence[str]) -> tuple[str, ...]:
    found = [*unified_diff(then, today, "then", "today", lineterm="", n=2)]
    more = len(found) - MOST_LINES
    return (*found[:MOST_LINES], f"and {more:,} more lines") if more > 0 else (*found,)


def refused_today(tried: DecisionTrial, error: DecisionError | LimitExceeded) -> DecisionTrial:
    return replace(tried, outcome=Outcome.REFUSED, reason=clip(str(error), REASON_CHARS))
