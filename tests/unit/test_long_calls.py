"""A call goes on without its caller, and the same call again gets its result once."""

import asyncio
from datetime import timedelta

import pytest

from soorma_ai.errors import NotFound, Overloaded
from soorma_ai.kernel.runtime.handling.process import long_calls
from soorma_ai.kernel.runtime.handling.process.long_calls import LongCalls
from soorma_ai.testing.clock import VirtualClock

KEY = ("try", "p-1")


async def test_a_call_beyond_the_patience_is_begun_once_and_its_result_is_given_once() -> None:
    calls, clock, gate, begun = LongCalls(), VirtualClock(), asyncio.Event(), list[int]()

    async def work() -> int:
        begun.append(len(begun))
        await gate.wait()
        return begun[-1]

    waiting = [asyncio.ensure_future(calls.result(KEY, work, clock, 2.0)) for _ in range(2)]
    await asyncio.sleep(0)
    await clock.advance(timedelta(seconds=2))
    assert (await asyncio.gather(*waiting), begun) == ([None, None], [0])
    gate.set()
    assert await calls.result(KEY, work, clock, 2.0) == 0
    assert await calls.result(KEY, work, clock, 2.0) == 1


async def test_a_call_outlives_its_caller_and_raises_for_the_next_one() -> None:
    calls, clock, gate = LongCalls(), VirtualClock(), asyncio.Event()

    async def fail() -> None:
        await gate.wait()
        raise NotFound("no plan")

    caller = asyncio.ensure_future(calls.result(KEY, fail, clock, 2.0))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.wait([caller])
    gate.set()
    with pytest.raises(NotFound):
        await calls.result(KEY, fail, clock, 2.0)


async def test_calls_are_bounded_and_end_with_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_calls, "MOST_AT_ONCE", 1)
    calls, clock, ended = LongCalls(), VirtualClock(), asyncio.Event()

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    caller = asyncio.ensure_future(calls.result(KEY, wait_for_ever, clock, 2.0))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await calls.result(("other",), wait_for_ever, clock, 2.0)
    await asyncio.sleep(0)
    await calls.close()
    assert ended.is_set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert await calls.result(("other",), _nothing, clock, 2.0) is None


async def _nothing() -> None: ...
