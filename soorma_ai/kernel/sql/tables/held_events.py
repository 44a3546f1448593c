"""Plans with their next delivery held back until an operator resumes them."""

from msgspec.structs import replace

from soorma_ai.kernel.domain.plans import Blocked, PlanRecord
from soorma_ai.kernel.sql.codec import FAR_AWAY, PLAN
from soorma_ai.kernel.sql.connection import Reader

# By the index inbox_due, an agent at a time: of its deliveries that wait for a moment, few wait for an operator.
_HELD = f"""
    SELECT plan.body, inbox.reason
    FROM inbox CROSS JOIN plan ON plan.plan_id = inbox.owner AND plan.agent = inbox.agent
    WHERE inbox.agent IN ({{agents}}) AND inbox.state IN ('queued', 'leased') AND inbox.ready_at > 0
        AND inbox.ready_at >= {FAR_AWAY} {{only}}
    LIMIT :limit
"""
# By the plan's tree, each with the delivery that stands first in its line.
_OF_TREE = f"""
    SELECT plan.body, inbox.reason
    FROM plan CROSS JOIN inbox ON inbox.owner = plan.plan_id AND inbox.agent = plan.agent
        AND inbox.state IN ('queued', 'leased', 'in_doubt')
    WHERE plan.root_plan_id = :root AND plan.status NOT IN ('completed', 'failed', 'cancelled')
        AND inbox.state = 'queued' AND inbox.ready_at >= {FAR_AWAY}
    ORDER BY inbox.seq LIMIT :limit
"""


def blocked_plans(
    db: Reader, limit: int, *, agent: str | None = None, tenant_id: str | None = None, user_id: str | None = None
) -> list[PlanRecord]:
    given = {"agent": agent, "tenant": tenant_id, "user": user_id}
    values = {name: value for name, value in given.items() if value is not None}
    agents = ":agent" if agent is not None else "SELECT agent FROM agent"
    by = {"tenant": "AND plan.tenant = :tenant", "user": "AND plan.user_id = :user"}
    only = " ".join(condition for name, condition in by.items() if name in values)
    found = db.execute(_HELD.format(agents=agents, only=only), {**values, "limit": limit}).fetchall()
    return [_blocked(body, reason) for body, reason in found]


def blocked_in_tree(db: Reader, root_plan_id: str, limit: int) -> list[PlanRecord]:
    found = db.execute(_OF_TREE, {"root": root_plan_id, "limit": limit}).fetchall()
    return [_blocked(body, reason) for body, reason in found]


def _blocked(body: str, reason: str | None) -> PlanRecord:
    """Return the plan with the delivery's facts, if another of its events has moved the plan on meanwhile."""
    plan = PLAN.record(body)
    return replace(plan, blocked=plan.blocked or Blocked(plan.plan_id, reason or "", plan.updated_at))
