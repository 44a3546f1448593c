"""Calls about cases, for operators of a tenant."""

from typing import Any

from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.features.trials.cases.ports import CASES
from soorma_ai.features.trials.cases.records import MOST_CASES, CaseKind, CaseName, DecisionCase, ManyCases, Paths
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.parameters import Id, Ordinal
from soorma_ai.kernel.domain.values import json_object
from soorma_ai.kernel.rules.authority import Owner, check
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.handling.handling import must_be_outside
from soorma_ai.kernel.runtime.views.plans import own_plan

CALLS = CallTable()


class CaseCalls(OperatorCalls):
    """Cases: recorded decisions with a judgement. Every call raises Forbidden without the role of an operator."""

    @CALLS("GET /cases", Act.MANAGE, "list_cases", key="cases")
    async def cases(self, name: str = "") -> list[DecisionCase]:
        """Return the cases of the set `name`, or of all sets, up to 1,000."""
        self._check("cases")
        return [*await self.services.store.part(CASES).cases(self.person.tenant_id, name, MOST_CASES)]

    @CALLS("POST /cases", Act.MANAGE, "add_case", status=201, raises=(NotFound,))
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
        must_be_outside()
        self._check("add_case")
        from soorma_ai.features.trials.cases.making import Judgement, make_case, read_decision
        from soorma_ai.features.trials.cases.rules import correct_answer
        from soorma_ai.features.trials.replay import Replay

        store = self.services.store
        replay = Replay(store.plans, store.registry, self.services.prompts)
        plan = await own_plan(self.services, self.person, plan_id)
        entry = await read_decision(replay, plan, number)
        wanted = None
        if should is not None:
            kind, wanted = CaseKind.SHOULD, correct_answer(entry.value, json_object("the wanted answer", should))
        judgement = Judgement(name, kind, self._now(), wanted, tuple(free))
        made = await make_case(replay, await replay.read_rows(plan), number, entry, judgement)
        async with self._changing("add_case", made.case_id) as change:
            await change.store.part(CASES).keep_cases([made])
        return made

    @CALLS("POST /cases/import", Act.MANAGE, "import_cases", key="added", raises=(ConfigError,))
    async def import_cases(self, cases: ManyCases) -> int:
        """Keep exported `cases`, in place of those with the same id. Return the number of new ones."""
        must_be_outside()
        self._check("import_cases")
        tenant_id = self.person.tenant_id
        async with self._changing("import_cases", str(len(cases))) as change:
            return await change.store.part(CASES).keep_cases([one.of_tenant(tenant_id) for one in cases])

    @CALLS("POST /cases/collect", Act.MANAGE, "collect_cases", key="made")
    async def collect_cases(self) -> int:
        """Make the cases of edited and rejected approvals now, in place of within a minute. Return their number."""
        must_be_outside()
        self._check("collect_cases")
        from soorma_ai.features.trials.cases.loop import make_pending_cases

        return await make_pending_cases(self.services, self.person.tenant_id)

    @CALLS("DELETE /cases/{case_id}", Act.MANAGE, "remove_case", key="deleted")
    async def remove_case(self, case_id: Id) -> bool:
        """Remove the case `case_id`. False for a missing one."""
        must_be_outside()
        self._check("remove_case")
        async with self._changing("remove_case", case_id) as change:
            return await change.store.part(CASES).remove_case(self.person.tenant_id, case_id)

    def _check(self, call: str) -> None:
        check(self.person, CALLS[call], Owner(self.person.tenant_id), "")


def cases_of(client: OperatorCalls) -> CaseCalls:
    """Return the cases of a client's person."""
    made = CaseCalls(client.services, client.person)
    made.caller = client.caller
    return made
