"""plan + decision -> effects: what carrying a decision out means. Pure; `runtime.execute` is the only doer."""

from collections.abc import Sequence
from datetime import timedelta

from soorma_ai.core.expecting.opening import Moment
from soorma_ai.core.plan.joins import publish_together
from soorma_ai.core.plan.lifecycle import complete
from soorma_ai.core.plan.outcome import Outcome
from soorma_ai.core.plan.requests import delegate, hold, request, wait
from soorma_ai.domain.decisions import (
    CompleteAction,
    DelegateAction,
    Judged,
    PublishAction,
    PublishAllAction,
    WaitAction,
    fingerprint,
)
from soorma_ai.domain.events import completion_of
from soorma_ai.domain.expectations import Expectation
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.replies import ExpectedReply


def reduce(
    plan: PlanRecord,
    judged: Judged,
    *,
    state: str,
    open_now: Sequence[Expectation],
    moment: Moment,
    reply_timeout: timedelta | None = None,
) -> Outcome:
    """`state` is what was known when this was decided: the trigger, in words. `reply_timeout` is for requests that say
    nothing of their own."""
    mark = fingerprint(judged.decision, state)
    match judged.decision.next_action:
        case PublishAction(event_type=name) as action:
            reply = ExpectedReply(completion_of(name), timeout=reply_timeout)
            if judged.approval:
                return hold(plan, action, judged.definition, judged.approval, moment, mark=mark, reply=reply)
            return request(plan, action, judged.definition, moment, mark=mark, reply=reply)
        case PublishAllAction() as action:
            return publish_together(plan, action, judged, moment, mark, reply_timeout)
        case DelegateAction() as action:
            if judged.approval:
                return hold(plan, action, judged.definition, judged.approval, moment, mark=mark)
            return delegate(plan, action, judged.definition, moment, mark=mark)
        case WaitAction() as action:
            return wait(plan, action, judged.definition, moment, producers=judged.producers, mark=mark)
        case CompleteAction(result=result):
            return complete(plan, result, open_now, moment)
