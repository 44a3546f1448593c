"""Extension: traces, progress and lists of plans, and counts of a tenant."""

from soorma_ai.api.server.tenant_stats import TENANT_STATS
from soorma_ai.context_parts import TRACKER
from soorma_ai.context_parts.tracker import TrackerCalls
from soorma_ai.features.tracking.ports import FEATURE, PLAN_FIGURES, PLAN_LISTS
from soorma_ai.features.tracking.store import SqlPlanFigures, SqlPlanLists, SqlTenantStats
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.sql.storage import Storage


def _tracker(handling: Handling) -> TrackerCalls:
    from soorma_ai.features.tracking.tracker import Tracker

    return Tracker(handling.services, Person(handling.event.tenant_id))


EXTENSION = Extension(
    name=FEATURE,
    storage=Storage(parts={PLAN_FIGURES: SqlPlanFigures, PLAN_LISTS: SqlPlanLists, TENANT_STATS: SqlTenantStats}),
    context={TRACKER: _tracker},
)
