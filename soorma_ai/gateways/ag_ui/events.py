"""Steps, questions and ends of plans as events of the protocol.

Each step of a plan closes each event that it opens. So a stream may go on behind any of them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import assert_never

from ag_ui.core import (
    PROTOCOL_VERSION,
    ActivitySnapshotEvent,
    BaseEvent,
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, ExpectationKind, Wait
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import Json, compact, derived_id

REQUEST = "soorma.request"
QUESTION = "soorma.question"
_IN_FLIGHT, _OPEN = "in flight", "open"
_OK = "ok"
# Steps about a request or a question alike: the expectation tells which one.
OF_EITHER = (StepKind.EXPIRED, StepKind.LATE)
_TYPES = {ExpectationKind.REPLY: REQUEST, ExpectationKind.CHILD: REQUEST, **dict.fromkeys(FOR_PEOPLE, QUESTION)}


def run_start(thread_id: str, run_id: str, plan_id: str) -> BaseEvent:
    return RunStartedEvent(
        thread_id=thread_id, run_id=run_id, protocol_version=PROTOCOL_VERSION, metadata={"plan_id": plan_id}
    )


def events_of(step: Step, kind: ExpectationKind | None = None) -> list[BaseEvent]:
    """Return the events of a step: its name, and the state of its request or question. `kind` is that of the
    expectation of a step in `OF_EITHER`."""
    if step.kind is StepKind.GOAL:
        return []
    at, name = _milliseconds(step.at), " ".join(filter(None, (f"{step.ordinal}:", step.kind, step.name)))
    activity = _activity_of(step, kind)
    return [
        StepStartedEvent(step_name=name, timestamp=at),
        *([activity] if activity is not None else []),
        StepFinishedEvent(step_name=name, timestamp=at),
    ]


class OpenActivities:
    """Requests and questions without an end, by the events of some steps."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, Json]] = {}
        self._ended: set[str] = set()

    def note(self, events: Iterable[BaseEvent]) -> None:
        for event in events:
            if not isinstance(event, ActivitySnapshotEvent):
                continue
            if event.content["status"] in (_IN_FLIGHT, _OPEN):
                self._open[event.message_id] = (event.activity_type, event.content["event"])
            else:
                self._open.pop(event.message_id, None)
                self._ended.add(event.message_id)

    def closings(self, before: "OpenActivities", plan: PlanRecord) -> list[BaseEvent]:
        """Return the last states of all that an ended plan left open; `before` is of the steps before these."""
        left = {name: one for name, one in before._open.items() if name not in self._ended} | self._open
        return [
            ActivitySnapshotEvent(
                message_id=name,
                activity_type=kind,
                content={"event": event, "status": "closed"},
                replace=True,
                timestamp=_milliseconds(plan.updated_at),
            )
            for name, (kind, event) in left.items()
        ]


def end_of(plan: PlanRecord, thread_id: str, run_id: str) -> list[BaseEvent]:
    """Return the last events of an ended plan's run."""
    at = _milliseconds(plan.updated_at)
    match plan.status:
        case PlanStatus.COMPLETED:
            return [
                *_message(derived_id("ag-ui", plan.plan_id, "result"), _words_of(plan.result), at),
                RunFinishedEvent(
                    thread_id=thread_id,
                    run_id=run_id,
                    result=plan.result,
                    outcome=RunFinishedSuccessOutcome(),
                    timestamp=at,
                ),
            ]
        case PlanStatus.CANCELLED:
            outcome = RunFinishedCancelledOutcome()
            return [RunFinishedEvent(thread_id=thread_id, run_id=run_id, outcome=outcome, timestamp=at)]
        case _:
            return [run_error(plan.reason or "the plan failed", "failed")]


def run_error(message: str, code: str) -> BaseEvent:
    return RunErrorEvent(message=message, code=code)


def run_interrupt(thread_id: str, run_id: str, asked: Iterable[Wait]) -> BaseEvent:
    """Return the end of a run that waits for these questions."""
    outcome = RunFinishedInterruptOutcome(interrupts=[_interrupt_of(wait) for wait in asked])
    return RunFinishedEvent(thread_id=thread_id, run_id=run_id, outcome=outcome)


def _interrupt_of(wait: Wait) -> Interrupt:
    about: dict[str, Json] = {"decisions": [str(one) for one in wait.allowed_decisions]}
    if wait.proposed_event is not None:
        about |= {"event": wait.proposed_event, "data": wait.proposed_data}
    return Interrupt(
        id=wait.wait_id,
        reason=wait.reason,
        message=wait.message,
        response_schema=dict(wait.response_schema),
        expires_at=wait.deadline.isoformat() if wait.deadline else None,
        metadata=about,
    )


def _activity_of(step: Step, kind: ExpectationKind | None) -> BaseEvent | None:
    match step.kind:
        case StepKind.PUBLISHED | StepKind.DELEGATED:
            return _activity(step, REQUEST, _IN_FLIGHT, data=step.data)
        case StepKind.REPLIED:
            return _activity(step, REQUEST, "completed" if step.note == _OK else "failed", result=step.data)
        case StepKind.HELD:
            return _activity(step, QUESTION, _OPEN, data=step.data)
        case StepKind.ASKED:
            return _activity(step, QUESTION, _OPEN, question=step.note, data=step.data)
        case StepKind.ANSWERED:
            return _activity(step, QUESTION, "answered", decision=step.note)
        case StepKind.RECEIVED:
            return _activity(step, QUESTION, "answered", data=step.data)
        case StepKind.EXPIRED | StepKind.LATE:
            type_ = None if kind is None else _TYPES.get(kind)
            return None if type_ is None else _activity(step, type_, str(step.kind))
        case (
            StepKind.GOAL
            | StepKind.PARKED
            | StepKind.RESUMED
            | StepKind.JOINED
            | StepKind.MOVED
            | StepKind.COMPLETED
            | StepKind.FAILED
            | StepKind.CANCELLED
        ):
            return None
        case _:
            assert_never(step.kind)


def _activity(step: Step, kind: str, status: str, **content: Json) -> BaseEvent | None:
    """Return the state of a request or a question, in the place of its state before."""
    about = step.expectation_id or step.event_id
    if about is None:
        return None
    told = {name: value for name, value in content.items() if value not in (None, "")}
    return ActivitySnapshotEvent(
        message_id=about,
        activity_type=kind,
        content={"event": step.name, "status": status, **told},
        replace=True,
        timestamp=_milliseconds(step.at),
    )


def _message(message_id: str, words: str, at: int) -> Sequence[BaseEvent]:
    if not words:
        return ()
    return (
        TextMessageStartEvent(message_id=message_id, role="assistant", timestamp=at),
        TextMessageContentEvent(message_id=message_id, delta=words, timestamp=at),
        TextMessageEndEvent(message_id=message_id, timestamp=at),
    )


def _words_of(result: Json) -> str:
    """Return a result as text: the only text in it, else JSON."""
    if isinstance(result, dict) and len(result) == 1:
        (result,) = result.values()
    if result is None:
        return ""
    return result if isinstance(result, str) else compact(result)


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)
