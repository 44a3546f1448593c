"""Tenant scope of a transaction, for row-level security. Statements name the tenant, too; the scope holds where one
forgets to."""

from msgspec import Struct

from soorma_ai.kernel.ports import Delivery


class TenantScope(Struct, frozen=True):
    """Tenant scope of a transaction, for row-level security. Without a user it is the whole tenant's. The platform's
    own scope sees the rows of all, and its writes belong to the tenant, if it has one."""

    tenant_id: str | None
    user_id: str | None = None
    is_house: bool = False


# What works across tenants by its nature: claims, timers, the relay, sweeps, the registry, what is removed for good.
HOUSE = TenantScope(None, is_house=True)


def of_delivery(delivery: Delivery, *, is_house: bool = False) -> TenantScope:
    return TenantScope(delivery.event.tenant_id, is_house=is_house)
