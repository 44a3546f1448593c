"""Large work in slices, with turns among tenants."""

import asyncio
from collections.abc import Generator

import pytest

from soorma_ai.kernel.domain.schema_cost import MOST_AT_ONCE
from soorma_ai.kernel.domain.slices import at_once, sliced
from soorma_ai.kernel.runtime.handling.check_ahead import run_in_slices


def steps_of(steps: int, units: int) -> Generator[int, None, str]:
    for _ in range(steps):
        yield units
    return "done"


def test_a_slice_is_no_longer_than_one_call_may_be() -> None:
    assert len(list(sliced(steps_of(10, MOST_AT_ONCE // 2)))) == 4
    assert not list(sliced(steps_of(10, MOST_AT_ONCE // 10)))
    assert at_once(sliced(steps_of(10, MOST_AT_ONCE))) == "done"


def test_work_beyond_its_bound_is_abandoned() -> None:
    assert at_once(sliced(steps_of(10, 10), most=99)) is None
    assert at_once(sliced(steps_of(10, 10), most=100)) == "done"


class Log:
    """The slices of all tenants, in order."""

    def __init__(self) -> None:
        self.tenants: list[str] = []

    async def work(self, tenant_id: str, slices: int) -> None:
        def run() -> Generator[None, None, None]:
            for _ in range(slices):
                self.tenants.append(tenant_id)
                yield

        await run_in_slices(tenant_id, run())


async def test_a_tenants_work_does_not_wait_for_the_end_of_anothers() -> None:
    log = Log()
    heavy = [asyncio.ensure_future(log.work("a", 50)) for _ in range(5)]
    await asyncio.sleep(0)
    await log.work("b", 10)
    assert log.tenants.count("a") < 25
    await asyncio.gather(*heavy)
    assert log.tenants.count("a") == 250


async def test_three_tenants_take_turns() -> None:
    log = Log()
    await asyncio.gather(*(log.work(tenant_id, 20) for tenant_id in "aabc"))
    while_all_work = log.tenants[4:40]
    assert {tenant_id: while_all_work.count(tenant_id) for tenant_id in "abc"} == {"a": 12, "b": 12, "c": 12}


async def test_the_event_loop_runs_between_slices() -> None:
    log, turns = Log(), 0
    task = asyncio.ensure_future(log.work("a", 30))
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 30


async def test_cancelled_work_is_abandoned() -> None:
    log = Log()
    dropped = asyncio.ensure_future(log.work("a", 1_000))
    await asyncio.sleep(0)
    behind = asyncio.ensure_future(log.work("a", 5))
    await asyncio.sleep(0)
    dropped.cancel()
    await behind
    assert len(log.tenants) < 20


async def test_an_error_stays_in_its_own_work() -> None:
    def broken() -> Generator[None, None, None]:
        yield
        raise ValueError("broken")

    log = Log()
    failing = asyncio.ensure_future(run_in_slices("a", broken()))
    await log.work("a", 5)
    with pytest.raises(ValueError, match="broken"):
        await failing
