"""Port for cases."""

from collections.abc import Sequence
from typing import Protocol

from soorma_ai.features.trials.cases.records import DecisionCase, Review
from soorma_ai.features.trials.ports import FEATURE
from soorma_ai.kernel.ports.part_keys import StoreKey


class Cases(Protocol):
    """Cases, and reviews without a case so far."""

    async def cases(self, tenant_id: str, name: str, limit: int) -> Sequence[DecisionCase]:
        """Return the cases of a set, or of all with an empty name, the first judged first."""
        ...

    async def keep_cases(self, cases: Sequence[DecisionCase]) -> int:
        """Keep cases, in place of those with the same id. Return the number of new ones."""
        ...

    async def remove_case(self, tenant_id: str, case_id: str) -> bool:
        """Remove a case. False for a missing one."""
        ...

    async def reviews(self, limit: int, tenant_id: str | None = None) -> Sequence[Review]:
        """Return reviews without a case so far, of this tenant or of all."""
        ...

    async def end_review(self, review: Review, case: DecisionCase | None) -> None:
        """Remove a review, and keep its case, if it has one. Without the review nothing is kept."""
        ...


CASES: StoreKey[Cases] = StoreKey("cases", feature=FEATURE)
