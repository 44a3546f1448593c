"""Summary of a question to people: the consequences of its answers, its urgency, and the answers to similar ones."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.values import JsonObject

SOON = timedelta(hours=1)
NEARLY_OVER = 5  # a fifth of the time is left


class Urgency(StrEnum):
    OVER = "over"
    SOON = "soon"
    LATER = "later"
    NONE = "none"


def urgency(opened_at: datetime, deadline: datetime | None, now: datetime) -> Urgency:
    """Return how little time is left: it is soon over in the last fifth, and in the last hour where that is less."""
    if deadline is None:
        return Urgency.NONE
    if now >= deadline:
        return Urgency.OVER
    is_soon = deadline - now <= min(SOON, (deadline - opened_at) / NEARLY_OVER)
    return Urgency.SOON if is_soon else Urgency.LATER


class Consequences(Struct, frozen=True):
    """Consequences of a yes, of a no, and of the deadline, in a sentence each; `no` is empty if none is possible."""

    yes: str
    no: str
    in_time: str


def consequences(asked: Expectation) -> Consequences:
    agent, subject = plain_name(asked.agent), asked.subject or asked.event_type
    match asked.kind:
        case ExpectationKind.GATE if asked.plan_id is not None:
            yes = f"{subject} is published with exactly this payload, and {agent} continues its plan."
            no = f"{subject} is not published. {agent} gets your reason and decides on the next step."
        case ExpectationKind.GATE:
            yes = f"{subject} is published with exactly this payload."
            no = f"{subject} is not published. The requester gets your reason."
        case ExpectationKind.DOUBT:
            yes = f"{agent} continues with the outcome of {subject} that you confirm."
            no = ""
        case _:
            yes = f"{agent} gets your answer and continues."
            no = "" if not _may_reject(asked) else f"{agent} gets your reason."
    return Consequences(yes, no, _at_deadline(asked))


def _at_deadline(asked: Expectation) -> str:
    if asked.deadline is None:
        return "It stays open."
    if asked.kind is ExpectationKind.GATE:
        is_yes = asked.ask is not None and asked.ask.on_expiry is AnswerDecision.APPROVE
        return "Approved automatically." if is_yes else "Rejected automatically."
    return f"{plain_name(asked.agent)} continues without an answer, as after a failure."


def _may_reject(asked: Expectation) -> bool:
    return asked.ask is not None and AnswerDecision.REJECT in asked.ask.allowed_decisions


class QuestionState(Struct, frozen=True):
    """State of a question: whether it `is_open`, and if not, the reason, in words."""

    is_open: bool
    words: str = ""


def question_state(asked: Expectation, now: datetime) -> QuestionState:
    answer, deadline = asked.answer, asked.deadline
    if answer is not None:
        said = {
            AnswerDecision.APPROVE: "approved this",
            AnswerDecision.EDIT: "approved this with changes",
            AnswerDecision.REJECT: "rejected this",
            AnswerDecision.RESPOND: "answered this",
        }[answer.decision]
        return QuestionState(False, f"{answer.by} {said}")
    if asked.status is ExpectationStatus.MET:
        return QuestionState(False, f"Closed: the event {asked.event_type} came instead of an answer")
    if asked.status is ExpectationStatus.CLOSED:
        return QuestionState(False, "Withdrawn: the requester continued without it, or ended")
    if asked.status is ExpectationStatus.EXPIRED or (deadline is not None and now >= deadline):
        return QuestionState(False, "Expired without an answer")
    return QuestionState(True)


class AnswerCounts(Struct, frozen=True):
    """Numbers of approvals, changes and rejections of held requests of one event; and the last approved one."""

    approved: int = 0
    edited: int = 0
    rejected: int = 0
    last_payload: JsonObject | None = None
    last_by: str = ""
    last_at: datetime | None = None


def count_answers(answered: Iterable[Expectation]) -> AnswerCounts:
    """Return the count of gates, given with the last answered first."""
    counts = dict.fromkeys(AnswerDecision, 0)
    last: tuple[JsonObject, str, datetime] | None = None
    for one in answered:
        answer, held = one.answer, one.ask.proposal if one.ask else None
        if answer is None or held is None:
            continue
        counts[answer.decision] += 1
        if last is None and answer.decision in (AnswerDecision.APPROVE, AnswerDecision.EDIT):
            edited = answer.payload.get("data") if answer.decision is AnswerDecision.EDIT else held.data
            last = (edited if isinstance(edited, dict) else held.data, answer.by, answer.answered_at)
    payload, by, at = last or (None, "", None)
    approved, edited = counts[AnswerDecision.APPROVE], counts[AnswerDecision.EDIT]
    return AnswerCounts(approved, edited, counts[AnswerDecision.REJECT], payload, by, at)
