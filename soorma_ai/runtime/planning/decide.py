"""Decisions of a model about a plan, one step or all of them, judged by what is true now."""

from collections.abc import Sequence
from dataclasses import replace

from soorma_ai.core.deciding.drafts import Material, gather_material, parse_machine, prepare_machine
from soorma_ai.core.deciding.judge import Situation, judge, parse_decision, prepare_decision
from soorma_ai.core.deciding.offer import Offer, make_offer, must_be_possible_at_once, with_whole_schemas
from soorma_ai.core.deciding.prompt import HISTORY_STEPS, decide_inputs, plan_inputs
from soorma_ai.core.deciding.review import review
from soorma_ai.core.plan.triggers import Trigger
from soorma_ai.domain.decisions import Judged, PlannerDecision, fingerprint, rejection_of, requests_in
from soorma_ai.domain.effects import Outcome
from soorma_ai.domain.history import DECIDE, PLAN, REASK, REPLAN
from soorma_ai.domain.people import Person
from soorma_ai.domain.registry import DiscoveredAgent
from soorma_ai.domain.states import PlanDefinition
from soorma_ai.domain.values import Json, JsonObject
from soorma_ai.errors import PayloadMismatch
from soorma_ai.runtime.handling.handling import Handling
from soorma_ai.runtime.planning.ask_model import Inquiry, ask_model
from soorma_ai.runtime.planning.settings import PlannerSettings
from soorma_ai.runtime.views.agents import Directory


async def offer_now(
    handling: Handling, settings: PlannerSettings | None = None, *, at_once: int | None = None
) -> Offer:
    """Offer of what live agents take; with `settings`, also of what a model may wait for and answer its goal with."""
    plan, store = handling.plan, handling.services.store
    now = handling.services.clock.now()
    await handling.services.presence.confirm(store.registry, now)
    live = await store.registry.live_events(plan.lineage.tenant_id, now)
    if settings is None:
        return make_offer(plan.agent, live, (), None)
    promised = settings.result_schemas.get(plan.goal_event)
    return make_offer(plan.agent, live, settings.awaits, promised, at_once=at_once)


async def situation_now(
    handling: Handling, offer: Offer, mark: str, decision: PlannerDecision | None = None
) -> Situation:
    """Read the facts to judge by; with a model's `decision`, also what people said when they rejected the same."""
    plan, store = handling.plan, handling.services.store
    spent = await store.plans.spent(plan.root_plan_id)
    return Situation(
        plan=plan,
        offer=offer,
        spent=replace(spent, actions=spent.actions + handling.actions_recorded),
        now=handling.services.clock.now(),
        in_flight=await handling.in_flight(),
        repeats=await store.plans.repeats(plan.plan_id, mark)
        + [s.fingerprint for s in handling.steps_recorded].count(mark),
        rejected=await handling.words_at([rejection_of(*request) for request in requests_in(decision)])
        if decision
        else {},
    )


async def decide(
    handling: Handling, settings: PlannerSettings, offer: Offer, trigger: Trigger, custom: JsonObject
) -> Judged:
    """Ask for one step. Raise as `ask_model` does."""

    async def judge_now(value: Json, fault: str) -> Judged:
        decision = prepare_decision(parse_decision(value, fault), offer)
        must_be_possible_at_once(decision, offer)
        mark = fingerprint(decision, trigger.known)
        try:
            return judge(decision, await situation_now(handling, offer, mark, decision))
        except PayloadMismatch as mismatch:
            raise with_whole_schemas(mismatch, decision, offer) from mismatch

    inputs = decide_inputs(
        handling.plan,
        instructions=settings.instructions,
        strategy=settings.strategy,
        history=await handling.history(HISTORY_STEPS),
        trigger=trigger,
        custom_context=custom,
        offer=offer,
        spent=await handling.services.store.plans.spent(handling.plan.root_plan_id),
        in_flight=await handling.in_flight(),
        today=settings.today(handling.services.clock.now()),
    )
    prompt = handling.services.prompts.render(DECIDE, inputs)
    inquiry = Inquiry(prompt, REASK, offer.schema, offer.digest, judge_now)
    return await ask_model(handling, settings.must_have_model(), inquiry)


async def material_now(handling: Handling, settings: PlannerSettings, chosen: Sequence[DiscoveredAgent]) -> Material:
    plan = handling.plan
    live = await Directory(handling.services, Person(plan.lineage.tenant_id)).query()
    return gather_material(plan.agent, live, chosen, settings.awaits, settings.result_schemas.get(plan.goal_event))


async def draft(
    handling: Handling, settings: PlannerSettings, material: Material, custom: JsonObject
) -> PlanDefinition:
    """Ask for all steps. Raise as `ask_model` does."""
    plan, services = handling.plan, handling.services

    async def review_now(value: Json, fault: str) -> PlanDefinition:
        drawn = prepare_machine(parse_machine(value, fault, plan.goal_event), material)
        review(drawn, material, plan.goal_data)
        return drawn

    spent = await services.store.plans.spent(plan.root_plan_id)
    inputs = plan_inputs(
        plan,
        instructions=settings.instructions,
        custom_context=custom,
        material=material,
        spent=spent,
        today=settings.today(services.clock.now()),
    )
    prompt = services.prompts.render(PLAN, inputs)
    handling.apply(Outcome(replace(plan, prompt=services.prompts.label(PLAN))))
    inquiry = Inquiry(prompt, REPLAN, material.schema, material.digest, review_now)
    return await ask_model(handling, settings.must_have_model(), inquiry)
