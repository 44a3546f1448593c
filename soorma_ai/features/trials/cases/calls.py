"""Calls about cases. Written by `make clients`; do not edit."""

from typing import Any, Protocol

from soorma_ai.features.trials.cases.records import CaseKind, CaseName, DecisionCase, ManyCases, Paths
from soorma_ai.kernel.domain.parameters import Id, Ordinal


class CaseCalls(Protocol):
    """Cases: recorded decisions with a judgement."""

    async def cases(self, name: str = "") -> list[DecisionCase]: ...

    async def add_case(
        self,
        plan_id: Id,
        number: Ordinal,
        name: CaseName,
        kind: CaseKind = CaseKind.RIGHT,
        *,
        should: dict[str, Any] | None = None,
        free: Paths = (),
    ) -> DecisionCase: ...

    async def import_cases(self, cases: ManyCases) -> int: ...

    async def collect_cases(self) -> int: ...

    async def remove_case(self, case_id: Id) -> bool: ...
