"""Makes a case of each edited or rejected approval."""

import re

from soorma_ai.errors import TransientError
from soorma_ai.features.trials.cases.ports import CASES
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn

BATCH = 50
LOOK_EVERY_SECONDS = 60.0
_ODD = re.compile(r"[^A-Za-z0-9_.-]+|^[^A-Za-z0-9]+")


async def keep_making_cases(services: Services) -> None:
    """Make cases of reviews now, and again every minute."""
    while True:
        try:
            await make_pending_cases(services)
        except TransientError as error:
            warn("cases_not_made", reason=error)
        await services.clock.sleep(LOOK_EVERY_SECONDS)


async def make_pending_cases(services: Services, tenant_id: str | None = None) -> int:
    """Make a case of each review, in the set with the name of its planner. The requests of forks are experiments and
    make none. Return the number of cases."""
    count, waiting = 0, services.store.part(CASES)
    while reviews := await waiting.reviews(BATCH, tenant_id):
        # The rules of trials are of no use to a start.
        from soorma_ai.features.trials.cases.making import make_case_of_review
        from soorma_ai.features.trials.replay import Replay

        for review in reviews:
            store = services.store.within(review.tenant_id)
            plan = await store.plans.plan(review.plan_id)
            replay = Replay(store.plans, store.registry, services.prompts)
            if plan is None or plan.fork is not None:
                case = None
            else:
                case = await make_case_of_review(replay, plan, review, name_of_set(plan.agent))
            await store.part(CASES).end_review(review, case)
            count += case is not None
    return count


def name_of_set(planner: str) -> str:
    """Return the name of the set of a planner's cases, also good for a file."""
    return _ODD.sub("-", plain_name(planner)).strip("-")[:100] or "cases"
