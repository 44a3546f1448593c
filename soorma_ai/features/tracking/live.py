"""News of a plan during its run, each once: the new lines of a trace, and the lines of one event."""

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.features.tracking.lines import (
    Line,
    LineKind,
    answer_line,
    choice_line,
    decision_line,
    flatten,
    question_of,
    reply_line,
    report_of,
    unmet_line,
)
from soorma_ai.features.tracking.trace import Trace
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, Wait
from soorma_ai.kernel.domain.history import SELECT, JournalEntry
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.states import HUMAN_INPUT, OPERATOR_NEEDED, WAIT_ESCALATED, WAIT_HANDED_OVER, WAIT_REMINDED
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED, CANCEL_REQUESTED, DEADLINE_REACHED, EXPIRED, WAKE_EVENTS

_NOW = timedelta(0)
# Ways in which an event is told: which of them depends on what else was there when it was looked at.
_OF_EVENTS = frozenset(
    {
        LineKind.TURN,
        LineKind.EVENT,
        LineKind.REPLY,
        LineKind.PROGRESS,
        LineKind.REQUEST,
        LineKind.DELEGATION,
        LineKind.END,
    }
)
_ASKED_AGAIN = {
    WAIT_REMINDED: "people are reminded of it",
    WAIT_ESCALATED: "more people may answer it now",
    WAIT_HANDED_OVER: "somebody was handed it",
}
_TOLD_TO_PLANS = {CANCEL_REQUESTED: "was asked to stop", DEADLINE_REACHED: "its deadline has come"}
_ENDS = frozenset({PlanStatus.COMPLETED, PlanStatus.FAILED, PlanStatus.CANCELLED})


class LiveLine(Struct, frozen=True):
    """One line, with its time. `mark` stays the same for the same line at every look. `wait` is the question to people
    in the line, `subject` the event of an answered question."""

    at: datetime
    line: Line
    mark: Hashable = None
    plan_id: str | None = None
    tenant_id: str = ""
    wait: Wait | None = None
    subject: str = ""


def news(trace: Trace, told: AbstractSet[Hashable]) -> list[LiveLine]:
    """Return the lines of a trace not yet `told`, by their marks, in order of time. Of turns only that of the goal: the
    causes of the others are in it. An unfinished line is no news, but for a request without a taker."""
    found: dict[Hashable, LiveLine] = {}
    for line in sorted(flatten(trace.lines), key=lambda line: line.time):
        lasts = line.kind is LineKind.OPEN and line.event_id is None
        if lasts or (line.kind is LineKind.TURN and line.data is None):
            continue
        at = trace.started_at + line.time
        mark = _mark(line, at)
        if mark not in told:
            found.setdefault(mark, LiveLine(at, line, mark, trace.plan_id, trace.tenant_id))
    return list(found.values())


def _mark(line: Line, at: datetime) -> Hashable:
    """Return the constant part of a line; the start of its plan may move."""
    if line.thought is not None:
        return line.kind, line.thought.key
    if line.asked is not None:
        return line.kind, line.asked.wait_id
    if line.kind in _OF_EVENTS and line.event_id:
        return LineKind.EVENT, line.event_id
    name = line.event_id or line.plan_id
    return (line.kind, name, line.what) if name else (line.kind, line.who, line.what, at)


class RowNames(Struct, frozen=True):
    """Names of rows for the lines of an event: the handling with a possible decision of a model on it, as (agent,
    cause), its expectation, and the answered request."""

    handling: tuple[str, str] | None = None
    expectation_id: str | None = None
    request_id: str | None = None


class LineRows(Struct, frozen=True):
    """Rows of a `RowNames`, as far as they exist. Of `decisions` the new ones."""

    decisions: Sequence[JournalEntry] = ()
    expectation: Expectation | None = None
    request: EventEnvelope | None = None


def lookups_of(event: EventEnvelope) -> RowNames:
    """Return the rows to look up for the lines of an event."""
    made_by = (
        (event.source, event.causation_id) if event.causation_id and event.source not in (CLIENT, SYSTEM) else None
    )
    is_about = event.source == SYSTEM and event.type in (ANSWERED, EXPIRED)
    asks = event.type == HUMAN_INPUT or event.type in _ASKED_AGAIN
    return RowNames(
        handling=made_by if event.type not in _ASKED_AGAIN else None,
        expectation_id=event.subject if is_about or asks else None,
        request_id=event.answers,
    )


def lines_of(event: EventEnvelope, found: LineRows) -> list[LiveLine]:
    """Return the lines of an event, in order: the decisions leading to it, and the event itself."""
    decisions = [LiveLine(entry.at, _decision(entry)) for entry in found.decisions]
    itself = _line_of(event, found)
    asked = found.expectation if itself and itself.asked else None
    wait = Wait.of(asked) if asked else None
    subject = found.expectation.event_type if found.expectation else ""
    told = [*decisions, *([LiveLine(event.time, itself, event.id, wait=wait, subject=subject)] if itself else [])]
    return [replace(one, plan_id=event.plan_id, tenant_id=event.tenant_id) for one in told]


def _decision(entry: JournalEntry) -> Line:
    return (choice_line if entry.prompt_id == SELECT else decision_line)(entry, entry.at)


def _line_of(event: EventEnvelope, found: LineRows) -> Line | None:
    if event.topic is EventTopic.NOTIFICATION_EVENTS and found.expectation is not None:
        return _question(event, found.expectation)
    if event.source == SYSTEM and event.type in WAKE_EVENTS:
        return _wake_line(event, found.expectation)
    source = plain_name(event.source)
    if event.source == SYSTEM and event.type == OPERATOR_NEEDED:
        needs = f"needs an operator: {event.data.get('reason')}"
        return Line(LineKind.TURN, _NOW, "", "the plan", needs, event_id=event.id)
    if report := report_of(event):
        return Line(LineKind.PROGRESS, _NOW, source, note=report.message, data=report.progress, event_id=event.id)
    if _ends_a_plan(event):
        return _end(event)
    if event.answers is not None:
        took = event.time - found.request.time if found.request else None
        return reply_line(source, event.type, event.data, _NOW, took, event.id)
    who = event.user_id or source if source == CLIENT else source
    return Line(LineKind.EVENT, _NOW, who, event.type, data=event.data, event_id=event.id)


def _question(event: EventEnvelope, asked: Expectation) -> Line | None:
    if asked.ask is None:
        return None
    if event.type in _ASKED_AGAIN:
        return Line(
            LineKind.TURN, _NOW, plain_name(asked.agent), asked.subject, _ASKED_AGAIN[event.type], event_id=event.id
        )
    held = asked.ask.proposal
    return Line(
        kind=LineKind.GATE if asked.kind is ExpectationKind.GATE else LineKind.WAIT,
        time=_NOW,
        who=plain_name(asked.agent),
        what=asked.event_type,
        note=asked.ask.message,
        data=held.data if held else None,
        event_id=event.id,
        asked=question_of(asked, asked.ask, None, asked.opened_at, event.time),
    )


def _wake_line(event: EventEnvelope, expected: Expectation | None) -> Line | None:
    if event.type in _TOLD_TO_PLANS:
        return Line(LineKind.TURN, _NOW, "", "the plan", _TOLD_TO_PLANS[event.type], event_id=event.id)
    if expected is None:
        return None
    if event.type == ANSWERED and expected.answer is not None:
        return answer_line(expected, expected.answer, expected.answer.answered_at)
    return unmet_line(expected, "", event.time, event.time) if event.type == EXPIRED else None


def _ends_a_plan(event: EventEnvelope) -> bool:
    """Tell whether this is the answer of a plan to its goal."""
    return (
        event.plan_id is not None and event.data.get("plan_id") == event.plan_id and event.data.get("status") in _ENDS
    )


def _end(event: EventEnvelope) -> Line:
    status, error = str(event.data.get("status")), event.data.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return Line(
        kind=LineKind.END,
        time=_NOW,
        who=plain_name(event.source),
        what=status,
        note=str(message or ""),
        data=event.data.get("result"),
        event_id=event.id,
        is_failure=status != PlanStatus.COMPLETED,
    )
