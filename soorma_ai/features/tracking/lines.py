"""Lines of a trace, each made of one stored row."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec.structs import asdict, replace

from soorma_ai.context_parts.progress import Report
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus, Untaken
from soorma_ai.kernel.domain.history import PLAN, JournalEntry, Step, StepKind
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Ask
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.states import PROGRESS
from soorma_ai.kernel.domain.values import Json, JsonObject


class LineKind(StrEnum):
    TURN = "turn"
    DECISION = "decision"
    CHOICE = "choice"
    REQUEST = "request"
    DELEGATION = "delegation"
    EVENT = "event"
    PROGRESS = "progress"
    REPLY = "reply"
    PLAN = "plan"
    WAIT = "wait"
    GATE = "gate"
    ANSWER = "answer"
    OPEN = "open"
    EXPIRY = "expiry"
    CLOSED = "closed"
    PARKED = "parked"
    END = "end"


class Thought(JournalEntry, frozen=True, kw_only=True):
    """Answer of a model, and its outcome. `refusal` is the reason against it."""

    action: str
    data: JsonObject
    reasoning: str


class Asked(Record, frozen=True):
    """A question to people. `waited` is how long it was open, or is by now. `answered_by` None may mean an event."""

    wait_id: str
    status: ExpectationStatus
    reason: str
    message: str
    approvers: tuple[str, ...]
    allowed_decisions: tuple[AnswerDecision, ...]
    deadline: timedelta | None
    on_expiry: AnswerDecision
    digest: str | None
    waited: timedelta
    decision: AnswerDecision | None
    answered_by: str | None


class Line(Record, frozen=True):
    """Line of a trace: `who` did something about `what`. `time` counts from the start of the shown plan, `took` from
    the answered line. `because` is the id of the causing event, `event_id` its own. `lines` are its consequences.
    `plan_id` is set at a plan's beginning."""

    kind: LineKind
    time: timedelta
    who: str
    what: str = ""
    note: str = ""
    data: Json = None
    event_id: str | None = None
    because: str | None = None
    plan_id: str | None = None
    took: timedelta | None = None
    is_failure: bool = False
    thought: Thought | None = None
    asked: Asked | None = None
    lines: tuple["Line", ...] = ()


def flatten(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield every line of a tree, each before its consequences."""
    for line in lines:
        yield line
        yield from flatten(line.lines)


def thought_of(entry: JournalEntry) -> Thought:
    value = entry.value if isinstance(entry.value, dict) else {}
    reasoning = value.get("reasoning")
    action, data = _step_in(value) if entry.prompt_id != PLAN else _plan_in(value)
    known = asdict(replace(entry, refusal=entry.refusal or entry.fault))
    return Thought(**known, action=action, data=data, reasoning=reasoning if isinstance(reasoning, str) else "")


def _step_in(value: JsonObject) -> tuple[str, JsonObject]:
    step = value.get("step")
    said: JsonObject = step if isinstance(step, dict) else {}
    action = said.get("action")
    return action if isinstance(action, str) else "", {key: item for key, item in said.items() if key != "action"}


def _plan_in(value: JsonObject) -> tuple[str, JsonObject]:
    """Summarise a whole plan by the names of its states."""
    states = value.get("states")
    if not isinstance(states, list):
        return "", {}
    names = [str(state.get("state_name")) for state in states if isinstance(state, dict)]
    return f"a plan of {len(states)} states: {', '.join(names)}", {"states": states}


def decision_line(entry: JournalEntry, start: datetime) -> Line:
    thought = thought_of(entry)
    return Line(
        kind=LineKind.DECISION,
        time=entry.at - start,
        who=plain_name(entry.key.agent),
        what=thought.action,
        note=thought.refusal if entry.is_refused else thought.reasoning,
        because=entry.key.cause_id,
        took=thought.latency,
        is_failure=entry.is_refused,
        thought=thought,
    )


def choice_line(entry: JournalEntry, start: datetime) -> Line:
    """Make the line of an answer that another agent than the planner got."""
    return replace(decision_line(entry, start), kind=LineKind.CHOICE)


def report_of(event: EventEnvelope) -> Report | None:
    """Return a worker's report about its task; None for any other event."""
    progress = event.data.get("progress")
    if event.type != PROGRESS or event.topic is not EventTopic.SYSTEM_EVENTS:
        return None
    if isinstance(progress, bool) or not isinstance(progress, int | float):
        return None
    return Report(progress, str(event.data.get("message") or ""), event.time)


def reply_line(
    who: str, what: str, data: JsonObject, at: timedelta, took: timedelta | None, event_id: str | None
) -> Line:
    """Make the line of a reply. Of `data` in the wire form only the inner part is shown."""
    worked = data.get("success") is not False
    inner = (data.get("result") if worked else data.get("error")) if "success" in data else data
    return Line(LineKind.REPLY, at, who, what, data=inner, event_id=event_id, took=took, is_failure=not worked)


def question_of(expected: Expectation, ask: Ask, by: str | None, start: datetime, now: datetime) -> Asked:
    return Asked(
        wait_id=expected.id,
        status=expected.status,
        reason=ask.reason,
        message=ask.message,
        approvers=ask.approvers,
        allowed_decisions=ask.allowed_decisions,
        deadline=expected.deadline - start if expected.deadline else None,
        on_expiry=ask.on_expiry,
        digest=ask.proposal.digest if ask.proposal else None,
        waited=(expected.closed_at or now) - expected.opened_at,
        decision=expected.answer.decision if expected.answer else None,
        answered_by=by,
    )


def answer_line(expected: Expectation, answer: Answer, start: datetime) -> Line:
    return Line(
        kind=LineKind.ANSWER,
        time=answer.answered_at - start,
        who=answer.by,
        what=answer.decision,
        note=answer.note,
        data=answer.payload,
        event_id=expected.met_by,
        took=answer.answered_at - expected.opened_at,
        is_failure=answer.decision is AnswerDecision.REJECT,
    )


_UNMET = {
    ExpectationStatus.OPEN: (LineKind.OPEN, "no answer yet"),
    ExpectationStatus.EXPIRED: (LineKind.EXPIRY, "no answer came in time"),
    ExpectationStatus.CLOSED: (LineKind.CLOSED, "no answer came before the plan went on without it"),
}


def unmet_line(expected: Expectation, note: str, start: datetime, now: datetime) -> Line:
    """Make the line of an unmet expectation. `note` is the text of the plan's history about it."""
    kind, words = _UNMET[expected.status]
    until = expected.closed_at or now
    return Line(
        kind=kind,
        time=until - start,
        who=plain_name(expected.agent),
        what=expected.subject,
        note=note or words,
        took=until - expected.opened_at,
        is_failure=kind is LineKind.EXPIRY,
    )


def untaken_line(untaken: Untaken, start: datetime, now: datetime) -> Line:
    return Line(
        kind=LineKind.OPEN,
        time=now - start,
        who=untaken.asked_by,
        what=untaken.event_type,
        note="nobody takes it yet",
        event_id=untaken.request_id,
        took=now - untaken.since,
    )


# The steps that wake a planner, and what each says has happened.
ARRIVALS = {
    StepKind.GOAL: "arrived",
    StepKind.REPLIED: "was answered",
    StepKind.ANSWERED: "was answered: {}",
    StepKind.RECEIVED: "arrived",
    StepKind.EXPIRED: "was not answered in time",
    StepKind.RESUMED: "the agents that can be asked have changed",
    StepKind.LATE: "was answered late",
}


def heading(came: Step) -> tuple[str, str]:
    """Return (subject, event) for one of the ARRIVALS."""
    if came.kind is StepKind.REPLIED and came.note == "failed":
        return came.name, "failed"
    return came.name, ARRIVALS[came.kind].format(came.note.partition(":")[0])
