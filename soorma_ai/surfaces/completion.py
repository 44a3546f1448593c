"""Ids for the completion of a shell, each with a few words."""

from typing import TYPE_CHECKING

from soorma_ai.surfaces.store_access import StoreAccess, open_store

if TYPE_CHECKING:
    from soorma_ai.api.clients.calls import KernelCalls
    from soorma_ai.surfaces.options import Access

MOST_OFFERED = 100


def plans(access: "Access") -> list[tuple[str, str]]:
    """Return the newest plans, each with its goal and status."""
    store: StoreAccess[KernelCalls] = open_store(access)
    found = store.look_up(lambda client: client.plans(limit=MOST_OFFERED))
    return [(one.plan_id, f"{one.goal_event}, {one.status}") for one in found]


def questions(access: "Access") -> list[tuple[str, str]]:
    """Return the open questions, each with its event and its message."""
    store: StoreAccess[KernelCalls] = open_store(access)
    found = store.look_up(lambda client: client.waits(limit=MOST_OFFERED))
    return [(one.wait_id, f"{one.expected_event}: {one.message}".removesuffix(": ")) for one in found]
