"""Rules of cases: the wanted answer, and the comparison with another."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.trials.cases.records import CaseKind, DecisionCase
from soorma_ai.features.trials.rules import StepQuestion, diff_values, substance_of
from soorma_ai.kernel.domain.decisions import PlannerDecision
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import JournalEntry, Sent, Step, StepKind, Verdict
from soorma_ai.kernel.domain.people import Answer, AnswerDecision
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import Json, JsonObject, copy_json, derived_id

_PAYLOADS = ("data", "result")


def case_id_of(plan_id: str, number: int, name: str) -> str:
    return derived_id("case", plan_id, str(number), name)


def outline_entry(entry: JournalEntry) -> JournalEntry:
    """Return an answer with the parts that a case needs."""
    last = entry.sent.last if entry.sent else 0
    return replace(entry, raw="", remembered=(), sent=Sent("", "", last=last), refusal="")


def correct_answer(value: Json, should: JsonObject) -> JsonObject:
    """Return the wanted answer. `should` is the whole of it, with a `step`, or the payload of the same step. Raise
    LocalProtocolError for a step without a payload."""
    if "step" in should:
        return should
    step = value.get("step") if isinstance(value, dict) else None
    place = next((name for name in _PAYLOADS if isinstance(step, dict) and name in step), None)
    if not isinstance(value, dict) or not isinstance(step, dict) or place is None:
        raise LocalProtocolError("the decision has no single payload: give the whole answer, an object with a `step`")
    return {**value, "step": {**step, place: should}}


def correct_request(value: Json, name: str, data: JsonObject, edited: JsonObject) -> JsonObject | None:
    """Return the answer with the payload of one request edited; None for an answer without this request."""
    step = value.get("step") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(step, dict):
        return None
    requests = step.get("requests")
    if not isinstance(requests, list):
        return {**value, "step": {**step, "data": edited}} if "data" in step else None
    changed = copy_json({"requests": requests})["requests"]
    for one in changed:
        if isinstance(one, dict) and one.get("action") == f"publish:{name}" and one.get("data") == data:
            one["data"] = edited
            return {**value, "step": {**step, "requests": changed}}
    return None


def judgement_of(asked: Expectation, answer: Answer, value: Json) -> tuple[CaseKind, JsonObject | None]:
    """Return the judgement in a person's answer to an approval, and the wanted answer of the model."""
    proposal, edited = asked.ask.proposal if asked.ask else None, answer.payload.get("data")
    if answer.decision is AnswerDecision.EDIT and proposal is not None and isinstance(edited, dict):
        should = correct_request(value, proposal.event_type, proposal.data, edited)
        if should is not None:
            return CaseKind.SHOULD, should
    return CaseKind.WRONG, None


def find_decision(
    entries: Iterable[tuple[int, JournalEntry]], steps: Sequence[Step], expectation_id: str
) -> tuple[int, JournalEntry] | None:
    """Return the decision with this held request, and its number."""
    held = next((one for one in steps if one.expectation_id == expectation_id and one.kind is StepKind.HELD), None)
    if held is None:
        return None
    before = [
        (number, entry)
        for number, entry in entries
        if entry.verdict is Verdict.ACCEPTED and entry.sent is not None and entry.sent.last < held.ordinal
    ]
    return before[-1] if before else None


def choices_today(case: DecisionCase, registered: Sequence[RegisteredEvent]) -> list[RegisteredEvent]:
    """Return the definitions of a case's choices: today's, and for an event unknown today that of the case."""
    known = {(one.agent, one.role, one.definition.event_name) for one in registered}
    kept = [one for one in case.choices if (one.agent, one.role, one.definition.event_name) not in known]
    return [*registered, *kept]


def choices_of(question: StepQuestion, registered: Iterable[RegisteredEvent]) -> tuple[RegisteredEvent, ...]:
    """Return the definitions that a question needs, with those of the planner itself."""
    offer, planner = question.offer, question.plan.agent
    names = {one.event_name for one in offer.events} | {one.goal.event_name for one in offer.delegates}
    names |= {one.definition.event_name for one in offer.waits}
    return tuple(one for one in registered if one.agent == planner or one.definition.event_name in names)


def compare_with_case(
    case: DecisionCase, wanted: PlannerDecision, given: PlannerDecision
) -> tuple[str, tuple[str, ...]]:
    """Compare a decision with a case. Return the difference in words, and as a diff of the payload."""
    (name, data), (found, other) = substance_of(wanted), substance_of(given)
    data, other = without(data, case.free), without(other, case.free)
    is_same = name == found and data == other
    if case.kind is CaseKind.WRONG:
        return (f"{name} as it was rejected", diff_values(data, other)) if is_same else ("", ())
    if name != found:
        return f"{name} is wanted, and {found} was decided", diff_values({name: data}, {found: other})
    return ("", ()) if is_same else (f"{name} with another payload than the wanted one", diff_values(data, other))


def without(value: Json, paths: Sequence[str]) -> Json:
    """Return a value without the parts at these JSON pointers."""
    if not paths:
        return value
    copied = copy_json({"value": value})["value"]
    for path in paths:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        place: Json = copied
        for part in way:
            place = _part_of(place, part)
        if isinstance(place, dict):
            place.pop(last, None)
    return copied


def _part_of(value: Json, part: str) -> Json:
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, list) and part.isdigit() and int(part) < len(value):
        return value[int(part)]
    return None
