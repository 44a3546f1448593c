"""Claims and absences: the part of a store for questions and the right to answer them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.kernel.domain.people import Absence, Claim
from soorma_ai.kernel.ports.part_keys import StoreKey


class Colleagues(Protocol):
    async def claims(self, wait_ids: Sequence[str]) -> list[Claim]:
        """Return the claims of these questions, expired ones too. A closed question has none."""
        ...

    async def stood_in_for(self, tenant_id: str, deputy: str, now: datetime) -> list[Absence]:
        """Return the current absences with this deputy, the first begun first."""
        ...


COLLEAGUES: StoreKey[Colleagues] = StoreKey("colleagues")
