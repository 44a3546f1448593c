"""Calls about forks, for operators of a tenant."""

from typing import TYPE_CHECKING

from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.features.trials.forks.ports import FORKS
from soorma_ai.features.trials.forks.records import ForkChange, ForkedPlan
from soorma_ai.features.trials.retirement.ports import MODELS
from soorma_ai.features.trials.retirement.rules import find_replacement
from soorma_ai.kernel.domain.calls import Act, CallTable, Right
from soorma_ai.kernel.domain.limits import UNPRICED_CURES
from soorma_ai.kernel.domain.parameters import Id, Note, Ordinal, Short
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.authority import Owner, check
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.handling.handling import must_be_outside
from soorma_ai.kernel.runtime.views.plans import own_plan

if TYPE_CHECKING:
    from soorma_ai.features.trials.forks.rules import Beginning
    from soorma_ai.kernel.rules.decisions.stored_question import StoredQuestion

CALLS = CallTable()
FORK = Right("fork", Act.MANAGE)
# An approved request of such a fork is sent for real.
FORK_TO_ACT = Right("fork_to_act", Act.MANAGE)


class ForkCalls(OperatorCalls):
    """Forks: new plans that begin with the beginning of another."""

    @CALLS("POST /plans/{plan_id}/forks", FORK, "fork_plan", status=201, raises=(ConfigError,))
    async def fork(
        self,
        plan_id: Id,
        at: Ordinal,
        *,
        model: Short = "",
        note: Note = "",
        dry: bool = False,
        act: bool = False,
        key: Short = "",
    ) -> ForkedPlan:
        """Begin a fork of a plan: a new plan with its steps up to the decision `at`, which it asks its model anew.

        Each request of the fork is held for a person, and an approved one is sent only with `act`. With `dry`, a
        request has the recorded reply of an equal one, and the fork stops at the first other request. `model` answers
        in the place of the planner's model; the model is told the `note`. The same `key` begins one fork. Raise
        NotFound, Forbidden, ConfigError for a faulty model, and LocalProtocolError for a plan that cannot be forked.
        """
        must_be_outside()
        from soorma_ai.features.trials.forks import rules

        for right in (FORK, FORK_TO_ACT) if act else (FORK,):
            check(self.person, right, Owner(self.person.tenant_id), "")
        plan = await own_plan(self.services, self.person, plan_id)
        if dry and act:
            raise LocalProtocolError("dry and act exclude each other: a dry fork sends nothing")
        if model:
            await self._check_model(model, plan)
        begun = await self._beginning(plan, at)
        if hindrance := rules.find_hindrance(begun):
            raise LocalProtocolError(f"plan {plan_id} cannot be forked at decision {at}: {hindrance}")
        change, by = ForkChange(model, note, act, dry), self.person.user_id
        origin = rules.fork_of(begun, at, by, change)
        own_id = self.services.clock.new_id() if not key else derived_id("fork", self.person.tenant_id, by, key)
        forked, effects = rules.begin_fork(begun, origin, note, own_id, self._now())
        async with self._changing("fork", plan_id) as change_made:
            is_new = await change_made.store.part(FORKS).begin_fork(forked, effects, forked.created_at)
        known = forked if is_new else await self.services.store.plans.plan(own_id)
        is_same = is_new or await self._has_note(own_id, note)
        if known is None or known.fork != origin or not is_same:
            raise LocalProtocolError(f"the key {key!r} is that of another fork: give a new one")
        return ForkedPlan(own_id, origin, tuple(rules.unanswered(begun, is_dry=dry)))

    async def _check_model(self, model: str, plan: PlanRecord) -> None:
        """Raise ConfigError for a model that cannot be asked here, for one with another in its place, and for an
        unknown price where the plan has a budget in US dollars."""
        known = await self.services.store.part(MODELS).replacements(self.person.tenant_id)
        if found := find_replacement(model, known):
            raise ConfigError(
                f"{model} is replaced by {found.to}: fork with that, or restore it by `soorma models restore {model}`"
            )
        reasoner = self.services.models.find(model)
        reasoner.check()
        if plan.limits.max_cost_usd is not None and reasoner.cost_of(1, 1) is None:
            price = f"the price of {model} is not known: {UNPRICED_CURES}"
            raise ConfigError(f"plan {plan.plan_id} has a budget in US dollars, and {price}")

    async def _has_note(self, plan_id: str, note: str) -> bool:
        """Tell whether a fork was begun with this note."""
        from soorma_ai.features.trials.forks.rules import note_of

        return note_of(await self.services.store.plans.plan_values(plan_id)) == note

    async def _beginning(self, plan: PlanRecord, number: int) -> "Beginning":
        """Read the rows of a plan at one of its questions. Raise NotFound."""
        from soorma_ai.features.trials.forks.rules import Beginning
        from soorma_ai.kernel.rules.decisions.stored_question import make_inputs
        from soorma_ai.kernel.runtime.views.questions import read_question

        plans = self.services.store.plans
        found = await plans.decisions(plan.plan_id, number - 1, 1)
        if not found:
            count = await plans.count_decisions(plan.plan_id)
            raise NotFound(f"plan {plan.plan_id} has no decision {number}, only {count}; `soorma why` lists them")
        steps = await plans.steps(plan.plan_id)
        stored = await read_question(plans, plan, found[0], steps)
        values = await plans.plan_values(plan.plan_id)
        return Beginning(stored, make_inputs(stored), steps, values, await self._is_join_gone(stored))

    async def _is_join_gone(self, stored: "StoredQuestion") -> bool:
        """Tell whether the question has a join whose row is stored no more. A fork has the join of its origin."""
        sent = stored.entry.sent
        if sent is None or sent.join_id is None:
            return False
        return await self.services.store.plans.expectation(sent.join_id) is None


def forks_of(client: OperatorCalls) -> ForkCalls:
    """Return the forks of a client's person."""
    made = ForkCalls(client.services, client.person)
    made.caller = client.caller
    return made
