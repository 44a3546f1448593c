"""A whole plan, drawn by a model as a state machine and checked before any of it runs."""

from collections.abc import Sequence
from dataclasses import replace

from soorma_ai.core.deciding.drafts import Material, gather_material, parse_machine, prepare_machine
from soorma_ai.core.deciding.prompt import plan_inputs
from soorma_ai.core.deciding.review import review
from soorma_ai.domain.effects import Outcome
from soorma_ai.domain.history import PLAN, REPLAN
from soorma_ai.domain.people import Person
from soorma_ai.domain.registry import DiscoveredAgent
from soorma_ai.domain.states import PlanDefinition
from soorma_ai.domain.values import Json, JsonObject
from soorma_ai.runtime.handling.handling import Handling
from soorma_ai.runtime.planning.ask_model import Inquiry, ask_model
from soorma_ai.runtime.planning.settings import PlannerSettings
from soorma_ai.runtime.views.agents import Directory


async def material_now(handling: Handling, settings: PlannerSettings, chosen: Sequence[DiscoveredAgent]) -> Material:
    plan = handling.plan
    live = await Directory(handling.services, Person(plan.lineage.tenant_id)).query()
    return gather_material(plan.agent, live, chosen, settings.awaits, settings.result_schemas.get(plan.goal_event))


async def draft(
    handling: Handling, settings: PlannerSettings, material: Material, custom: JsonObject
) -> PlanDefinition:
    """Raises as `ask_model` does."""
    plan, services = handling.plan, handling.services

    async def review_now(value: Json, fault: str) -> PlanDefinition:
        drawn = prepare_machine(parse_machine(value, fault, plan.goal_event), material)
        review(drawn, material, plan.goal_data)
        return drawn

    spent = await services.store.plans.spent(plan.root_plan_id)
    told = settings.instructions
    inputs = plan_inputs(plan, instructions=told, custom_context=custom, material=material, spent=spent)
    prompt = services.prompts.render(PLAN, inputs)
    handling.apply(Outcome(replace(plan, prompt=services.prompts.label(PLAN))))
    inquiry = Inquiry(prompt, REPLAN, material.schema, material.digest, review_now)
    return await ask_model(handling, settings.must_have_model(), inquiry)
