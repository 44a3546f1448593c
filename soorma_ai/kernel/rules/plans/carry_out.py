"""plan + decision -> effects: the meaning of each decision. Pure; `execute` is the only doer."""

from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from soorma_ai.kernel.domain.approvals import HelpRequest
from soorma_ai.kernel.domain.decisions import (
    AcceptedDecision,
    CompleteAction,
    DelegateAction,
    PublishAction,
    PublishAllAction,
    WaitAction,
    fingerprint,
)
from soorma_ai.kernel.domain.effects import PlanChange
from soorma_ai.kernel.domain.events import completion_of
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.replies import ExpectedReply
from soorma_ai.kernel.rules.plans.give_up import ask_for_help, failure_of, words_of
from soorma_ai.kernel.rules.plans.joins import publish_together
from soorma_ai.kernel.rules.plans.lifecycle import complete, fail
from soorma_ai.kernel.rules.plans.requests import publish_or_hold, wait
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.waits.opening import Moment


class PlanTerms(Struct, frozen=True):
    """Terms of a planner for its plans. `reply_timeout` is for requests without one of their own. `help` is the
    question to a person before a plan gives up; without it, the plan fails at once."""

    reply_timeout: timedelta | None = None
    help: HelpRequest | None = None


USUAL_TERMS = PlanTerms()


def carry_out(
    plan: PlanRecord,
    judged: AcceptedDecision,
    trigger: Trigger,
    open_now: Sequence[Expectation],
    moment: Moment,
    terms: PlanTerms = USUAL_TERMS,
) -> PlanChange:
    """Return the effects of a decision. `trigger` is its cause."""
    mark = fingerprint(judged.decision, trigger.facts)
    match judged.decision.next_action:
        case PublishAction(event_type=name):
            reply = ExpectedReply(completion_of(name), timeout=terms.reply_timeout)
            return publish_or_hold(plan, judged, moment, fingerprint=mark, reply=reply)
        case PublishAllAction() as action:
            return publish_together(plan, action, judged, moment, mark, terms.reply_timeout)
        case DelegateAction():
            return publish_or_hold(plan, judged, moment, fingerprint=mark)
        case WaitAction() as action:
            return wait(plan, judged, action, moment, mark)
        case CompleteAction(outcome="achieved", result=result):
            return complete(plan, result, open_now, moment)
        case CompleteAction() as action if terms.help is not None:
            return ask_for_help(plan, action, moment, mark, terms.help)
        case CompleteAction() as action:
            return fail(plan, failure_of(words_of(action)), open_now, moment)
