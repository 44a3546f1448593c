"""Check of an upgrade: open plans and parked requests before a new registry and new prompts. Its ports only read."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.features.trials.records import PlanTrial
from soorma_ai.features.trials.replay import Replay
from soorma_ai.features.trials.upgrade.ports import ContractFacts, OpenPlans
from soorma_ai.features.trials.upgrade.records import EventChange, UpgradeReport
from soorma_ai.features.trials.upgrade.rules import (
    describe_change,
    find_abandoned,
    find_misfits,
    find_removed,
    pairs_of,
    upgraded_events,
)
from soorma_ai.kernel.domain.contracts import BrokenWork
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.registry import RegisteredEvent, Registration
from soorma_ai.kernel.rules.arrival.contracts import find_broken, find_changes

MOST_PLANS = 10_000


class KnownRegistry(Struct, frozen=True):
    """Registry of these events alone."""

    events: Sequence[RegisteredEvent]

    async def all_events(self, tenant_id: str) -> Sequence[RegisteredEvent]:
        return self.events


class UpgradeCheck(Struct, frozen=True):
    """Check of new registrations, by readers alone."""

    replay: Replay
    plans: OpenPlans
    contracts: ContractFacts

    async def run(self, tenant_id: str, new: Sequence[Registration]) -> UpgradeReport:
        former, takings = await self.contracts.registrations(tenant_id)
        events = upgraded_events(former, takings, new)
        opened = await self.plans.expectations(tenant_id=tenant_id)
        held = [one for one in opened if one.kind is ExpectationKind.GATE]
        changes, broken = list[EventChange](), find_misfits(held, events)
        for before, now in pairs_of(former, new):
            for change in find_changes(before, now):
                changes.append(describe_change(now, change))
                if change.is_narrower:
                    work = await self.contracts.open_work(tenant_id, now.agent, change.now)
                    broken += find_broken(change, work)
            for definition in find_removed(before, events):
                work = await self.contracts.open_work(tenant_id, before.agent, definition)
                broken += find_abandoned(definition, work)
        going = await self._open_plans(tenant_id)
        trials = await self._try(going, events)
        return UpgradeReport(len(going), len(held), tuple(changes), _each_once(broken), tuple(trials))

    async def _open_plans(self, tenant_id: str) -> list[PlanRecord]:
        found = list[PlanRecord]()
        for status in PlanStatus:
            if not status.is_final:
                found += await self.plans.plans(tenant_id=tenant_id, limit=MOST_PLANS, status=status)
        return found

    async def _try(self, plans: Sequence[PlanRecord], events: Sequence[RegisteredEvent]) -> list[PlanTrial]:
        replay = replace(self.replay, registry=KnownRegistry(events))
        trials = [await replay.try_last(plan) for plan in plans]
        return [one for one in trials if not one.is_same]


def _each_once(broken: Sequence[BrokenWork]) -> tuple[BrokenWork, ...]:
    return tuple({(one.kind, one.subject, one.plan_id): one for one in reversed(broken)}.values())[::-1]
