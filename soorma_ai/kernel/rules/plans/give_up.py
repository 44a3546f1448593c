"""Giving up: a goal that cannot be reached fails its plan by name, or is a question to a person first."""

from soorma_ai.kernel.domain.approvals import HelpRequest
from soorma_ai.kernel.domain.decisions import CompleteAction
from soorma_ai.kernel.domain.effects import PlanChange
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision, Ask
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.values import JsonObject, clip
from soorma_ai.kernel.rules.plans.requests import ask_people
from soorma_ai.kernel.rules.waits.opening import LONGEST_WAIT, ExpectationSpec, Moment

GAVE_UP = "gave_up"
GIVE_UP_ASKED = "plan.gave_up"
MOST_CHARS, MOST_MISSING, MISSING_CHARS = 2_000, 20, 200

HELP: JsonObject = {
    "type": "object",
    "properties": {
        "hint": {"type": "string", "description": "What the planner should try."},
        "data": {"type": "object", "description": "Values that the planner lacks."},
    },
    "additionalProperties": False,
}


def words_of(action: CompleteAction) -> str:
    """Return the reason and the missing things, in bounded words."""
    missing = "; ".join(clip(one, MISSING_CHARS) for one in action.missing[:MOST_MISSING] if one.strip())
    reason = clip(action.reason.strip(), MOST_CHARS)
    return f"{reason}; missing: {missing}" if missing else reason


def ask_for_help(
    plan: PlanRecord, action: CompleteAction, moment: Moment, fingerprint: str, terms: HelpRequest
) -> PlanChange:
    """Ask a person for a hint or for data before the plan ends. A rejection, and silence, end it."""
    words = words_of(action)
    question = Ask(
        reason=GAVE_UP,
        message=words,
        response_schema=HELP,
        allowed_decisions=(AnswerDecision.RESPOND, AnswerDecision.REJECT),
        approvers=terms.approvers,
        reminders=terms.reminders,
        escalate_after=terms.escalate_after,
        escalate_to=terms.escalate_to,
    )
    spec = ExpectationSpec(
        moment.expectation_id("wait"),
        ExpectationKind.WAIT,
        GIVE_UP_ASKED,
        topic=EventTopic.NOTIFICATION_EVENTS,
        timeout=terms.timeout or LONGEST_WAIT,
        ask=question,
    )
    return ask_people(plan, spec, words, moment, fingerprint=fingerprint)


def asks_for_help(asked: Expectation) -> bool:
    """Tell whether a plan that would give up asks this."""
    is_so_named = asked.kind is ExpectationKind.WAIT and asked.event_type == GIVE_UP_ASKED
    return is_so_named and asked.ask is not None and asked.ask.reason == GAVE_UP


def failure_after(asked: Expectation) -> Failure | None:
    """Return the failure of a plan that got no help; None where help came."""
    words, answer = asked.ask.message if asked.ask else "", asked.answer
    if answer is None and asked.status is ExpectationStatus.EXPIRED:
        return failure_of(f"{words}; nobody answered in time")
    if answer is None or answer.decision is not AnswerDecision.REJECT:
        return None
    said = f": {answer.note}" if answer.note else ""
    return failure_of(f"{words}; {answer.by} ended the plan{said}")


def failure_of(words: str) -> Failure:
    """Return the failure of a plan that gives up."""
    return Failure(GAVE_UP, f"{GAVE_UP}: {words}")
