"""Turns of forks: the trigger of the next question, and recorded replies for a dry one."""

from msgspec.structs import replace

from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.decisions import AcceptedDecision, fingerprint
from soorma_ai.kernel.domain.effects import PlanChange
from soorma_ai.kernel.domain.plans import Fork
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.rules.plans.forks import NOT_FORKABLE, Recording, join_id_of, rehearse, trigger_of_fork
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.planning.settings import PlannerSettings


async def next_trigger(handling: Handling) -> Trigger:
    """Return the trigger of a fork's next question, by its rows."""
    plan, plans = handling.plan, handling.services.store.plans
    [last] = await handling.steps_at([plan.steps - 1])
    join_id = join_id_of(plan, last)
    if join_id is None:
        return trigger_of_fork(plan, last, None, ())
    join = await plans.expectation(join_id)
    if join is None:
        raise NotFound(f"join {join_id} of {plan.fork.title if plan.fork else plan.plan_id} is not stored any more")
    return trigger_of_fork(plan, last, join, await plans.branches_that_came(plan.plan_id, join_id))


def find_hindrance(settings: PlannerSettings, fork: Fork, *, has_transition: bool) -> Failure | None:
    """Return the reason against a fork, in the code of its planner."""
    if has_transition:
        reason = f"{settings.name} has an on_transition handler, and its code would act: fork plans of planners without"
        return Failure(NOT_FORKABLE, f"{reason}; plan {fork.plan_id} can be tried by `soorma trial`")
    if settings.reasoner is None:
        return Failure(NOT_FORKABLE, f"{settings.name} has no model to ask")
    return None


def settings_of_fork(handling: Handling, settings: PlannerSettings, fork: Fork) -> PlannerSettings:
    """Return the settings with the model of the fork."""
    if not fork.model or settings.reasoner is None:
        return settings
    return replace(settings, reasoner=handling.services.models.in_place_of(settings.reasoner, fork.model))


async def rehearse_now(handling: Handling, judged: AcceptedDecision, trigger: Trigger, fork: Fork) -> PlanChange:
    """Return the effects of a decision in a dry fork."""
    plans, plan = handling.services.store.plans, handling.plan
    recorded = await plans.steps(fork.plan_id, fork.last + 1)
    own = [*await plans.steps(plan.plan_id, fork.last + 1), *handling.steps_recorded]
    mark = fingerprint(judged.decision, trigger.facts)
    return rehearse(plan, judged, mark, Recording(recorded, own), handling.moment())
