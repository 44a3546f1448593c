"""The worst mode is as bad as described."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kit import planner, stock, until, wait_for_end
from worst import IS_WORST, ForgetfulStore, TwiceBus, WorstPlatform

from soorma_ai import Platform
from soorma_ai.adapters.sqlite.file import writer
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.kernel.ports import Brought
from soorma_ai.kernel.runtime.loops import relay, timers
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish


async def test_every_event_comes_twice_and_its_plan_takes_it_once(path: Path, clock: VirtualClock) -> None:
    came: Counter[str] = Counter()

    class Counting(TwiceBus):
        async def subscribe(self, receive: Any) -> None:
            async def counted(brought: Sequence[Brought]) -> None:
                came.update(one.event.id for one in brought)
                await receive(brought)

            await super().subscribe(counted)

    async with Platform(store=ForgetfulStore(path, ALL_FEATURES), bus=Counting(), clock=clock) as platform:
        await platform.start(
            planner([publish("inventory.reserve.requested", order_id="A"), complete({"ok": 1})]), stock()
        )
        plan = await platform.submit("order.received", {})
        assert (await wait_for_end(platform, plan.plan_id)).result == {"ok": 1}
        await until(platform, lambda: set(came.values()) == {2})
    assert len(came) > 3


@pytest.mark.skipif(not IS_WORST, reason="about SOORMA_WORST=1")
async def test_in_the_worst_mode_nothing_is_done_in_groups(platform: Platform) -> None:
    assert isinstance(platform, WorstPlatform)
    assert isinstance(platform.services.store, ForgetfulStore)
    assert {writer.GROUP, relay.BATCH, timers.BATCH} == {1}
