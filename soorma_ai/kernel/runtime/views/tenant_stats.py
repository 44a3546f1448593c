"""What stands in a tenant, for who oversees it."""

from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.tenant_stats import Standing
from soorma_ai.kernel.rules.authority import SEE_METRICS, Owner, check
from soorma_ai.kernel.runtime.handling.handling import Services

# Rows of a kind that are counted.
MOST_COUNTED = 5_000


async def standing_of(services: Services, person: Person) -> Standing:
    """Raise Forbidden for who is no auditor or operator of the tenant."""
    check(person, SEE_METRICS, Owner(person.tenant_id), "")
    return await services.store.queue.standing(person.tenant_id, services.clock.now(), MOST_COUNTED)
