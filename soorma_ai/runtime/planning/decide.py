"""One decision of a model about a plan, judged by what is true now."""

from dataclasses import replace

from soorma_ai.core.deciding.judge import Situation, judge, parse_decision, prepare_decision
from soorma_ai.core.deciding.offer import Offer, make_offer
from soorma_ai.core.deciding.prompt import HISTORY_STEPS, decide_inputs
from soorma_ai.core.plan.triggers import Trigger
from soorma_ai.domain.decisions import Judged, fingerprint
from soorma_ai.domain.history import DECIDE, REASK
from soorma_ai.domain.values import Json, JsonObject
from soorma_ai.runtime.handling.handling import Handling
from soorma_ai.runtime.planning.ask_model import Inquiry, ask_model
from soorma_ai.runtime.planning.settings import PlannerSettings


async def offer_now(handling: Handling, settings: PlannerSettings) -> Offer:
    plan, store = handling.plan, handling.services.store
    now = handling.services.clock.now()
    await handling.services.presence.confirm(store.registry, now)
    live = await store.registry.live_events(plan.lineage.tenant_id, now)
    return make_offer(plan.agent, live, settings.awaits, settings.result_schemas.get(plan.goal_event))


async def situation_now(handling: Handling, offer: Offer, mark: str) -> Situation:
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
    )


async def decide(
    handling: Handling, settings: PlannerSettings, offer: Offer, trigger: Trigger, custom: JsonObject
) -> Judged:
    """Raises as `ask_model` does."""

    async def judge_now(value: Json, fault: str) -> Judged:
        decision = prepare_decision(parse_decision(value, fault), offer)
        mark = fingerprint(decision, trigger.known)
        return judge(decision, await situation_now(handling, offer, mark))

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
    )
    prompt = handling.services.prompts.render(DECIDE, inputs)
    inquiry = Inquiry(prompt, REASK, offer.schema, offer.digest, judge_now)
    return await ask_model(handling, settings.must_have_model(), inquiry)
