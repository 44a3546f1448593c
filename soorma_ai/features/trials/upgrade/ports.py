"""Ports of an upgrade check: reads of a store."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from typing_extensions import Unpack

from soorma_ai.features.trials.ports import FEATURE
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition, Registration
from soorma_ai.kernel.ports.conditions import PlanConditions
from soorma_ai.kernel.ports.part_keys import StoreKey

if TYPE_CHECKING:
    from soorma_ai.kernel.rules.arrival.contracts import OpenWork

# Agent, topic, name.
Taking = tuple[str, str, str]


class OpenPlans(Protocol):
    """Part of `Plans` for plans and their open expectations."""

    async def plans(
        self, *, tenant_id: str | None, limit: int, user_id: str | None = None, **conditions: Unpack[PlanConditions]
    ) -> list[PlanRecord]: ...

    async def expectations(
        self, *, plan_id: str | None = None, tenant_id: str | None = None, only_open: bool = True
    ) -> list[Expectation]: ...


class ContractFacts(Protocol):
    """Facts about the contracts of a tenant."""

    async def registrations(self, tenant_id: str) -> tuple[Sequence[Registration], Sequence[Taking]]:
        """Return registrations of the tenant and shared ones, and the first takings of all events, in order."""
        ...

    async def open_work(self, tenant_id: str | None, agent: str, definition: EventDefinition) -> "OpenWork":
        """Return the open work with an event of this agent."""
        ...


CONTRACTS: StoreKey[ContractFacts] = StoreKey("contracts", feature=FEATURE)
