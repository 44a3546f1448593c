"""What a plan is told of those before it in its session: what each was for, and what it ended with."""

from collections.abc import Iterable

from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.prompting.outline import shorten

GOAL_CHARS, RESULT_CHARS = 500, 1_500


def tell_earlier(plan: PlanRecord, before: Iterable[PlanRecord], most: int) -> list[Json]:
    """Return the last `most` plans that have ended, the oldest first. `before` are those of the session, the newest
    first; what another user began, a part of a larger plan, and what came after is none of these."""
    whose = (plan.lineage.tenant_id, plan.lineage.user_id, plan.lineage.session_id)
    ended = [
        one
        for one in before
        if one.status.is_final
        and one.parent_plan_id is None
        and one.created_at <= plan.created_at
        and one.plan_id != plan.plan_id
        and (one.lineage.tenant_id, one.lineage.user_id, one.lineage.session_id) == whose
    ]
    return [_describe(one) for one in reversed(ended[:most])]


def _describe(plan: PlanRecord) -> Json:
    worked = plan.status is PlanStatus.COMPLETED
    return {
        "goal": plan.goal_event,
        "data": shorten(plan.goal_data, GOAL_CHARS),
        "status": plan.status,
        "result" if worked else "reason": shorten(plan.result if worked else plan.reason, RESULT_CHARS),
    }
