"""A whole plan, drawn by a model as a state machine and checked before any of it runs."""

from collections.abc import Sequence
from dataclasses import replace

from soorma_ai.core.deciding.drafts import Means, drafted, make_means, prepared
from soorma_ai.core.deciding.prompt import plan_inputs
from soorma_ai.core.deciding.review import review
from soorma_ai.domain.discovery import DiscoveredAgent
from soorma_ai.domain.effects import Outcome
from soorma_ai.domain.history import PLAN, REPLAN
from soorma_ai.domain.people import Person
from soorma_ai.domain.states import PlanDefinition
from soorma_ai.domain.values import Json, JsonObject
from soorma_ai.runtime.handling.handling import Handling
from soorma_ai.runtime.planning.ask_model import Inquiry, ask_model
from soorma_ai.runtime.planning.settings import PlannerSettings
from soorma_ai.runtime.views.agents import Directory


async def means_now(handling: Handling, settings: PlannerSettings, chosen: Sequence[DiscoveredAgent]) -> Means:
    plan = handling.plan
    live = await Directory(handling.services, Person(plan.lineage.tenant_id)).query()
    return make_means(plan.agent, live, chosen, settings.awaits, settings.result_schemas.get(plan.goal_event))


async def draft(handling: Handling, settings: PlannerSettings, means: Means, custom: JsonObject) -> PlanDefinition:
    """Raises as `ask_model` does."""
    plan, services = handling.plan, handling.services

    async def review_now(value: Json, fault: str) -> PlanDefinition:
        drawn = prepared(drafted(value, fault, plan.goal_event), means)
        review(drawn, means, plan.goal_data)
        return drawn

    spent = await services.store.spent(plan.root_plan_id)
    inputs = plan_inputs(plan, instructions=settings.instructions, custom_context=custom, means=means, spent=spent)
    prompt = services.prompts.render(PLAN, inputs)
    handling.apply(Outcome(replace(plan, prompt=services.prompts.label(PLAN))))
    return await ask_model(
        handling, settings.must_have_model(), Inquiry(prompt, REPLAN, means.schema, means.digest, review_now)
    )
