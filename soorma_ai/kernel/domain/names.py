"""Names of agents: a space of each tenant, and one of the shared agents.

Everything is stored under an agent's key, of the tenant and the name; people and models read the name.
"""

from collections.abc import Iterable

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.events import CLIENT

# Between a name and its tenant. No name holds it, so no two agents have one key.
BETWEEN = "@"


def agent_key(tenant_id: str | None, name: str) -> str:
    """Return the key of the agent of this name; `tenant_id` None: all tenants share it. A key stays as it is. Raise
    ConfigError for a name with '@'."""
    plain, at, tenant = name.partition(BETWEEN)
    if at and tenant != tenant_id:
        raise ConfigError(f"an agent cannot be called {name!r}: {BETWEEN!r} ends a name; leave it out")
    return plain if tenant_id is None else f"{plain}{BETWEEN}{tenant_id}"


def plain_name(key: str) -> str:
    return key.partition(BETWEEN)[0]


def is_of_a_tenant(key: str) -> bool:
    """Tell whether an agent belongs to one tenant; all tenants share the others."""
    return BETWEEN in key


def agent_meant(target: str, asker: str, keys: Iterable[str]) -> str | None:
    """Return the key of an agent by its name, or by its key; None without such an agent.

    A name means the nearest one: for a client and for an agent of a tenant that of their tenant, for a shared agent the
    shared one; else the agent of the other kind.
    """
    named = [key for key in keys if target in (key, plain_name(key))]
    means_its_tenants = asker == CLIENT or is_of_a_tenant(asker)
    return next((key for key in named if is_of_a_tenant(key) == means_its_tenants), next(iter(named), None))
