"""Pruning ended plans changes nothing for living ones."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import is_idle, open_platform, payments, planner, running_platform, stock, until
from places import counts_of, raw
from worst import IS_WORST

from soorma_ai import Agent, Approval, Limits, Platform
from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.features.upkeep import retention
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import ModelQuestion, Pruned
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait

DAY = timedelta(days=1)
GATE = Approval(timeout=20 * DAY)
SEED = 1 if IS_WORST else 0
STIRRING = """
    SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM timer WHERE due <= ?)
        + (SELECT count(*) FROM inbox WHERE state IN ('queued', 'leased', 'blocked'))
"""


def decide(question: ModelQuestion) -> Any:
    """Reserve; then, as the order says, pay (with the approval of a person), wait for the buyer, or be done."""
    told = question.messages[1].content.split("Events you can publish")[0]
    if "inventory.reserve.requested answered" not in told and "inventory.reserve.requested was" not in told:
        return publish("inventory.reserve.requested", order_id="A1")
    if '"kind":"pay"' in told and "payment.charge.requested" not in told:
        return publish("payment.charge.requested", amount=5)
    if '"kind":"ask"' in told and "buyer.replied" not in told:
        return wait("buyer.replied", "Which slot?", timeout_seconds=20 * 86400)
    return complete({"done": True})


@dataclass
class Run:
    """A year of a small shop, open for a moment now and then. With `forgets` it prunes; the rest is the same for the
    same seed."""

    path: Path
    seed: int
    forgets: bool
    plans: list[str] = field(default_factory=list[str])
    told: dict[str, Any] = field(default_factory=dict[str, Any])
    removed: int = 0
    kept: int = 0

    async def live(self) -> None:
        self._chance, self._clock = random.Random(self.seed), VirtualClock(seed=str(self.seed))
        for number in range(25):
            async with self._open() as platform:
                for time in range(self._chance.randrange(3)):
                    await self._something(platform, f"{number}-{time}")
                    await self._quiet(platform)
                await self._remember(platform)
                if self._chance.random() < 0.5:
                    await self._forget(platform, self._chance.choice([1, 3, 30]) * DAY)
            await self._clock.advance(self._chance.choice([0, 1, 2, 12]) * DAY)
        for _ in ("their deadlines pass", "and that is long ago as well"):
            await self._clock.advance(100 * DAY)
            async with self._open() as platform:
                await self._remember(platform)
                await self._forget(platform, DAY)

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Platform]:
        async with open_platform(self.path, self._clock) as platform:
            orders = planner(decide, external_events=["buyer.replied"], limits=Limits(deadline=30 * DAY))
            await platform.start(orders, stock(), payments(GATE))
            await self._quiet(platform)
            yield platform

    async def _quiet(self, platform: Platform) -> None:
        """Wait until all work of the moment is done."""

        async def is_quiet() -> bool:
            with raw(self.path) as owner:
                return owner.execute(STIRRING, (self._clock.now().timestamp(),)).fetchone() == (0,)

        await until(platform, is_quiet)

    async def _something(self, platform: Platform, key: str) -> None:
        chance, kind = self._chance.random(), self._chance.choice(["plain", "pay", "ask"])
        named = self._chance.choice(self.plans) if self.plans else ""
        yes = self._chance.random() < 0.7
        if chance < 0.5 or not named:
            handle = await platform.submit("order.received", {"kind": kind, "key": key}, idempotency_key=key)
            self.plans.append(handle.plan_id)
        elif chance < 0.65:
            await platform.publish("business-facts", "buyer.replied", {}, plan_id=named, idempotency_key=key)
        elif chance < 0.85:
            waits = sorted(await platform.waits(), key=lambda wait: (wait.opened_at, wait.wait_id))
            for asked in waits[:1]:
                await platform.answer(asked.wait_id, {"approved": yes}, answer_id=key)
        else:
            await platform.request("inventory.reserve.requested", {"order_id": key}, idempotency_key=key)

    async def _remember(self, platform: Platform) -> None:
        """Record the ends of plans before they are forgotten."""
        for plan_id in self.plans:
            plan = None if plan_id in self.told else await platform.services.store.plans.plan(plan_id)
            if plan is not None and plan.status.is_final:
                details = await platform.plan(plan_id)
                steps = [(step.kind, step.name, step.note, step.at) for step in details.steps]
                self.told[plan_id] = (plan.status, plan.result, plan.reason, details.usage, steps)

    async def _forget(self, platform: Platform, age: timedelta) -> None:
        if self.forgets:
            counted = await platform.prune(age, dry_run=True)
            pruned = await platform.prune(age)
            assert pruned == counted
            self.removed += pruned.plans
            self.kept += pruned.kept


# A year of openings, each in a process of its own.
@pytest.mark.timeout(600)
async def test_living_plans_run_to_the_same_end_with_and_without_a_prune(tmp_path: Path) -> None:
    kept, forgetful = Run(tmp_path / "kept.db", SEED, False), Run(tmp_path / "forgetful.db", SEED, True)
    await kept.live()
    await forgetful.live()
    assert forgetful.plans == kept.plans
    assert forgetful.told == kept.told
    assert len(kept.told) == len(kept.plans) > 5
    assert (forgetful.removed, forgetful.kept) == (len(kept.plans), 0)
    left = {name for name, rows in counts_of(tmp_path / "forgetful.db").items() if rows}
    # Over a broker the store has a name of no tenant. It stays, like the database's own rows.
    left -= {"store", "sqlite_sequence", "meta", "memo_total", "access"}
    # A case of a rejected approval holds all that it needs, so it outlives its plan.
    assert left == {"agent", "definition", "taking", "decision_case"}


@asynccontextmanager
async def shop(path: Path, clock: VirtualClock, *agents: Agent) -> AsyncGenerator[Platform]:
    """A platform open for a moment and closed while days pass: an open one renews leases and heartbeats every few
    seconds of them. All events have arrived by its end, since an event on its way is not forgotten."""
    async with running_platform(path, clock, *agents) as platform:
        yield platform
        if agents:
            await until(platform, lambda: is_idle(platform))


async def test_a_platform_forgets_plans_a_month_after_their_end(path: Path, clock: VirtualClock) -> None:
    agents = planner([complete({"n": 1}), complete({"n": 2})]), stock()
    async with shop(path, clock, *agents) as platform:
        handle = await platform.submit("order.received", {}, idempotency_key="k")
        await handle.result(timeout=10)
    await clock.advance(29 * DAY)
    async with shop(path, clock, *agents) as platform:
        assert await platform.prune() == Pruned()
        again = await platform.submit("order.received", {}, idempotency_key="k")
        assert await again.result() == {"n": 1}, "the key is known"
    await clock.advance(2 * DAY)
    async with shop(path, clock, *agents) as platform:
        assert await platform.prune(dry_run=True) == Pruned(plans=1, events=2)
        assert await platform.prune(statuses=["failed"]) == Pruned()
        assert await platform.prune() == Pruned(plans=1, events=2)
        with pytest.raises(NotFound):
            await platform.plan(handle.plan_id)
        fresh = await platform.submit("order.received", {}, idempotency_key="k")
        assert (await fresh.result(timeout=10), fresh.plan_id) == ({"n": 2}, handle.plan_id)


async def test_a_long_prune_keeps_no_other_task_waiting(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(path, clock, planner(lambda _: complete()), stock()) as platform:
        for _ in range(5):
            await (await platform.submit("order.received", {})).result(timeout=10)
    await clock.advance(31 * DAY)
    monkeypatch.setattr(retention, "BATCH", 1)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with shop(path, clock) as platform:
        running = asyncio.create_task(others())
        for dry_run in (True, False):
            before = turns
            assert (await platform.prune(dry_run=dry_run)).plans == 5
            assert turns - before > 5
        running.cancel()


async def test_a_prune_takes_final_statuses_only_and_an_age_of_a_day_or_more(platform: Platform) -> None:
    for age in (timedelta(0), timedelta(hours=23, minutes=59), -DAY):
        with pytest.raises(LocalProtocolError, match="kept for 24 hours"):
            await platform.prune(age)
    for statuses in (["running"], ["over"], "completed", []):
        with pytest.raises(LocalProtocolError, match="completed, failed, cancelled"):
            await platform.prune(statuses=statuses)
    with pytest.raises(LocalProtocolError, match="before all time"):
        await platform.prune(timedelta.max)
    assert await platform.prune(statuses=[PlanStatus.FAILED, "cancelled"]) == Pruned()


async def test_a_plan_removed_in_part_before_a_stop_is_shown_and_goes_next_time(
    path: Path, clock: VirtualClock
) -> None:
    agents = planner(decide, name="orders"), stock(), payments()
    async with shop(path, clock, *agents) as platform:
        handle = await platform.submit("order.received", {"kind": "pay"})
        await handle.result(timeout=10)
        whole = await platform.trace(handle.plan_id)
    await clock.advance(31 * DAY)
    final = [status for status in PlanStatus if status.is_final]
    async with shop(path, clock) as platform:
        before, now = clock.now() - 30 * DAY, clock.now()
        for _ in range(3):
            batch = await platform.services.store.part(UPKEEP).prune(AgeConditions("default", before, final, now), 3)
            assert batch.plans == 0
            left = await platform.trace(handle.plan_id)
            assert (left.status, left.result) == (whole.status, whole.result)
    async with shop(path, clock) as platform:
        assert (await platform.prune()).plans == 1
        assert await platform.services.store.events.events() == []
