"""Automatic retention: a platform removes ended plans by itself."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import as_time_passes, planner, stock, until

from soorma_ai import Agent, ConfigError, Platform
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete

DAY = timedelta(days=1)


@pytest.mark.parametrize("retention", [timedelta(hours=1), timedelta(0), "30d", 30])
def test_a_retention_of_less_than_a_day_is_refused_at_once(retention: Any) -> None:
    with pytest.raises(ConfigError, match=r"Platform\(retention=\.\.\.\)"):
        Platform("sqlite://", retention=retention)


@pytest.mark.parametrize("retention", [None, 2 * DAY])
async def test_plans_ended_before_the_retention_go_from_every_tenant(
    tmp_path: Path, clock: VirtualClock, retention: timedelta | None
) -> None:
    url = f"sqlite:///{tmp_path / 'kept.db'}"
    async with Platform(url, clock=clock) as platform:
        await platform.start(planner([complete()] * 3), stock())
        for tenant_id in ("default", "acme", "zeta"):
            plan = await platform.as_user(tenant_id=tenant_id, user_id="ann").submit("order.received", {})
            await plan.result(timeout=10)
        await platform.publish("business-facts", "heard.by.nobody", {})
    await clock.advance(3 * DAY)
    async with Platform(url, clock=clock, retention=retention) as platform:
        await platform.start(Agent("listener", events_produced=["seen"]))
        upkeep = platform.services.store.part(UPKEEP)

        async def is_empty() -> bool:
            return await upkeep.tenants() == []

        if retention is not None:
            await as_time_passes(clock, is_empty)
        else:
            await clock.advance(2 * DAY)
            assert await upkeep.tenants() == ["acme", "default", "zeta"]


async def test_an_ended_plan_stays_for_the_time_of_its_retention(tmp_path: Path, clock: VirtualClock) -> None:
    async with Platform(f"sqlite:///{tmp_path / 'kept.db'}", clock=clock, retention=DAY) as platform:
        await platform.start(planner([complete()]), stock())
        plan = await platform.submit("order.received", {})
        await plan.result(timeout=10)
        await clock.advance(20 * 3600)
        assert len(await platform.plans()) == 1

        async def is_gone() -> bool:
            await clock.advance(1800)
            return not await platform.plans()

        await until(platform, is_gone)
