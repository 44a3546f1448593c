"""The parts of a store for lists and figures of plans, parts of a long plan, and counts of a tenant."""

from soorma_ai.features.tracking import figures, listing, part_rows, tenant_stats
from soorma_ai.kernel.sql.database import StorePart, reading


class SqlPlanLists(StorePart):
    plan_page = reading(listing.plan_page, of_user=True)
    first_awaited = reading(listing.first_awaited)
    rows_of_part = reading(part_rows.rows_of_part)


class SqlPlanFigures(StorePart):
    count_active = reading(figures.count_active, of_user=True, is_long=True)
    count_failed = reading(figures.count_failed, of_user=True, is_long=True)
    costs_of_calls = reading(figures.costs_of_calls, of_user=True, is_long=True)


class SqlTenantStats(StorePart):
    tenant_stats = reading(tenant_stats.tenant_stats, is_long=True)
