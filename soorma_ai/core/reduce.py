"""plan + decision -> effects: what carrying a decision out means. Pure; `runtime.execute` is the only doer."""

from collections.abc import Sequence

from soorma_ai.core.asking import Moment, Outcome, delegate, hold, request, wait
from soorma_ai.core.ending import complete
from soorma_ai.core.join import publish_together
from soorma_ai.core.validate import Judged, fingerprint
from soorma_ai.domain.decisions import CompleteAction, DelegateAction, PublishAction, PublishAllAction, WaitAction
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.waits import Expectation


def reduce(plan: PlanRecord, judged: Judged, *, state: str, open_now: Sequence[Expectation], moment: Moment) -> Outcome:
    """`state` is what was known when this was decided: the trigger, in words."""
    mark = fingerprint(judged.decision, state)
    match judged.decision.next_action:
        case PublishAction() as action:
            if judged.approval:
                return hold(plan, action, judged.definition, judged.approval, moment, mark=mark)
            return request(plan, action, judged.definition, moment, mark=mark)
        case PublishAllAction() as action:
            return publish_together(plan, action, judged, moment, mark)
        case DelegateAction() as action:
            return delegate(plan, action, judged.definition, moment, mark=mark)
        case WaitAction() as action:
            return wait(plan, action, judged.definition, moment, producers=judged.producers, mark=mark)
        case CompleteAction(result=result):
            return complete(plan, result, open_now, moment)
