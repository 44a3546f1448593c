"""Calls about cases over HTTP. Written by `make clients`; do not edit."""

from typing import Any, TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.api.clients.messages import delete, get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.features.trials.cases.records import CaseKind, CaseName, DecisionCase, ManyCases, Paths
from soorma_ai.kernel.domain.parameters import Id, Ordinal


class AsyncCases:
    """Cases: recorded decisions with a judgement."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def cases(self, name: str = "") -> list[DecisionCase]:
        """Return the cases of the set `name`, or of all sets, up to 1,000."""
        return await self._caller.read_key(get("cases", name=name), "cases", list[DecisionCase])

    async def add_case(
        self,
        plan_id: Id,
        number: Ordinal,
        name: CaseName,
        kind: CaseKind = CaseKind.RIGHT,
        *,
        should: dict[str, Any] | None = None,
        free: Paths = (),
    ) -> DecisionCase:
        """Make a case of the decision `number` of a plan, in the set `name`, with the judgement `kind`. With `should`,
        the wanted payload or the whole wanted answer, its kind is `should`. JSON pointers in `free` leave out parts of
        the payload. Raise NotFound, and LocalProtocolError for a decision without a stored question."""
        return await self._caller.read(
            post(
                "cases",
                body={"plan_id": plan_id, "number": number, "name": name, "kind": kind, "should": should, "free": free},
            ),
            DecisionCase,
        )

    async def import_cases(self, cases: ManyCases) -> int:
        """Keep exported `cases`, in place of those with the same id. Return the number of new ones."""
        return await self._caller.read_key(post("cases", "import", body={"cases": cases}), "added", int)

    async def collect_cases(self) -> int:
        """Make the cases of edited and rejected approvals now, in place of within a minute. Return their number."""
        return await self._caller.read_key(post("cases", "collect", body={}), "made", int)

    async def remove_case(self, case_id: Id) -> bool:
        """Remove the case `case_id`. False for a missing one."""
        return await self._caller.read_key(delete("cases", case_id), "deleted", bool)


BlockingCasesKind = TypeVar("BlockingCasesKind", bound=AsyncCases, covariant=True)


class BlockingCases(Blocking[BlockingCasesKind]):
    """Cases: recorded decisions with a judgement."""

    cases = blocking(AsyncCases.cases)
    add_case = blocking(AsyncCases.add_case)
    import_cases = blocking(AsyncCases.import_cases)
    collect_cases = blocking(AsyncCases.collect_cases)
    remove_case = blocking(AsyncCases.remove_case)
