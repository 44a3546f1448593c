"""Every live plan owns something that will move it; a stranded plan is found, reported and set going."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from kit import (
    as_time_passes,
    is_idle,
    open_platform,
    order,
    planner,
    running_platform,
    stock,
    the_wait,
    until,
    wait_for_end,
)
from places import raw

from soorma_ai import Platform
from soorma_ai.errors import BusUnavailable
from soorma_ai.kernel.ports import Brought, StoredEvent
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait

RESERVE = publish("inventory.reserve.requested", order_id="A")
Receive = Callable[[Sequence[Brought]], Awaitable[None]]


class ForgetfulBus:
    """A bus: takes every event, and brings only its copies after the first `lost`."""

    is_broker = True

    def __init__(self, lost: int = 1) -> None:
        self._lost = lost
        self._seen: dict[str, int] = {}
        self._receivers: list[Receive] = []

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        brought: list[Brought] = []
        for event in (row.event for row in rows):
            self._seen[event.id] = self._seen.get(event.id, 0) + 1
            if self._seen[event.id] > self._lost:
                brought.append(Brought(event))
        for receive in self._receivers:
            await receive(brought)

    async def subscribe(self, receive: Receive) -> None:
        self._receivers.append(receive)

    async def close(self) -> None:
        self._receivers.clear()


async def test_an_event_lost_by_the_bus_is_sent_again(
    path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with Platform(f"sqlite:///{path}", bus=ForgetfulBus(), clock=clock) as platform:
        plan = await order(platform, planner([RESERVE, complete({"ok": True})]), stock())
        await as_time_passes(clock, lambda: platform.plans(status="completed"), step=2.0)
        found = await wait_for_end(platform, plan.plan_id)
        assert (found.status, found.result) == ("completed", {"ok": True})
        assert [step.kind for step in found.steps].count("replied") == 1
    assert any("events_sent_again" in message for message in caplog.messages)


class ReluctantBus(ForgetfulBus):
    """A bus: takes one event of many, and brings it only after it has taken all others, one at a time."""

    def __init__(self) -> None:
        super().__init__(lost=0)
        self.given: list[str] = []

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        first, *others = rows
        self.given.append(first.event.id)
        await super().publish([first])
        if others:
            error = BusUnavailable("one at a time")
            error.taken = (first.seq,)
            raise error


async def test_an_event_taken_by_the_bus_is_not_sent_again_with_the_untaken_ones(
    path: Path, clock: VirtualClock
) -> None:
    bus = ReluctantBus()
    async with Platform(f"sqlite:///{path}", clock=clock) as before:
        for number in range(5):
            await before.publish("business-facts", "order.placed", {"number": number})
    async with Platform(f"sqlite:///{path}", bus=bus, clock=clock) as platform:
        await platform.start(stock())
        await as_time_passes(clock, lambda: is_idle(platform))
    assert len(bus.given) == len(set(bus.given)) == 5


async def stranded_plan(path: Path, clock: VirtualClock, *statements: str) -> str:
    """Return the id of a plan with an open question, in a file changed by hand."""
    async with open_platform(path, clock) as platform:
        script = [wait("user.replied", "Which?"), complete({"ok": True})]
        plan = await order(platform, planner(script, external_events=["user.replied"]), stock())
        await the_wait(platform)
    with raw(path) as owner:
        for statement in statements:
            owner.execute(statement)
    return plan.plan_id


async def test_a_live_plan_with_nothing_to_wait_for_is_reported_and_goes_on(
    path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    plan_id = await stranded_plan(path, clock, "DELETE FROM expectation")
    async with open_platform(path, clock) as platform:
        await platform.start(planner([complete({"went": "on"})], external_events=["user.replied"]), stock())
        plan = await wait_for_end(platform, plan_id)
        assert (plan.status, plan.result) == ("completed", {"went": "on"})
    assert any("plan_stranded" in message and plan_id in message for message in caplog.messages)


async def test_a_plan_with_an_open_question_is_left_alone(path: Path, clock: VirtualClock) -> None:
    await stranded_plan(path, clock)
    async with running_platform(path, clock, planner([]), stock()) as platform:
        for _ in range(3):
            await clock.advance(61)
            swept = await platform.services.store.queue.sweep(clock.now())
            assert (swept.stranded, swept.unblocked) == ((), 0)
        assert len(await platform.waits()) == 1


async def test_a_delivery_behind_nothing_moves_up(path: Path, clock: VirtualClock) -> None:
    async with open_platform(path, clock) as platform:
        await platform.start(stock())
    async with open_platform(path, clock) as platform:
        await platform.publish("action-requests", "inventory.reserve.requested", {"order_id": "A"})
        store = platform.services.store
        rows = await store.queue.unsent(9)
        await store.queue.arrive([row.event for row in rows], clock.now())
    with raw(path) as owner:
        owner.execute("UPDATE inbox SET state = 'blocked'")
    async with running_platform(path, clock, stock()) as platform:
        await until(platform, lambda: is_idle(platform))
