"""Check of a decision's payloads, in slices where one call of the validator would take long."""

from soorma_ai.kernel.domain.decisions import PlannerDecision
from soorma_ai.kernel.rules.choices.offer import Offer
from soorma_ai.kernel.rules.decisions.judge import checks_of
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead


async def check_decision_ahead(tenant_id: str, decision: PlannerDecision, offer: Offer) -> None:
    for schema, value in checks_of(decision, offer):
        await check_ahead(tenant_id, schema, value)
