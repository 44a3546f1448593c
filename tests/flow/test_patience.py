"""A test does not wait in silence for an absent model: its call raises the model's own reason."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from kit import order, payments, planner, running_platform, stock

from soorma_ai import Approval
from soorma_ai.errors import DeadlineExceeded, ModelUnavailable
from soorma_ai.kernel.runtime.handling.process.circuits import bound_patience
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, delegate, publish


def stays_away(_: Any) -> Exception:
    return ModelUnavailable("http://10.0.0.7 cannot be reached")


def breaks(_: Any) -> Exception:
    return ConnectionResetError("by peer")


@pytest.mark.parametrize("call", ["next_wait", "result", "events"])
async def test_a_call_that_waits_for_a_plan_raises_the_reason_of_its_model(path: Any, clock: Any, call: str) -> None:
    async with running_platform(path, clock) as platform:
        plan = await order(platform, planner(stays_away), stock())
        with (
            bound_patience(0.1),
            pytest.raises(ModelUnavailable, match=r"away for 0\.1 s .*: http://10.0.0.7 cannot be"),
        ):
            if call == "events":
                async for _ in plan.events():
                    pass
            else:
                await getattr(plan, call)()


async def test_an_error_raised_by_a_script_is_the_reason_too(path: Any, clock: Any) -> None:
    async with running_platform(path, clock) as platform:
        plan = await order(platform, planner(breaks), stock())
        with bound_patience(0.1), pytest.raises(ModelUnavailable, match="ConnectionResetError: by peer"):
            await plan.next_wait()


async def test_a_wait_for_a_root_raises_the_reason_of_its_childs_model(path: Any, clock: Any) -> None:
    lead = planner([delegate("child", "part.wanted", {}), complete({})], name="lead")
    child = planner(stays_away, name="child", goals=["part.wanted"])
    async with running_platform(path, clock) as platform:
        plan = await order(platform, lead, child)
        with bound_patience(0.1), pytest.raises(ModelUnavailable, match="cannot be reached"):
            await plan.result()


async def test_the_wait_for_a_plan_with_an_open_question_goes_on(path: Any) -> None:
    """The absent model is another plan's."""
    clock = VirtualClock()
    charge = publish("payment.charge.requested", amount=1)
    lines = planner(stays_away, name="lines", goals=["line.wanted"])
    gated = payments(Approval(approvers=("manager",), timeout=timedelta(days=1)))
    async with running_platform(path, clock) as platform:
        plan = await order(platform, planner([charge, complete({})]), lines, gated)
        await platform.submit("line.wanted", {})
        assert await plan.next_wait()
        with bound_patience(0.1), pytest.raises(TimeoutError):
            async with asyncio.timeout(1.2):
                await plan.result()


async def test_outside_of_tests_a_plan_may_rest(
    path: Any, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soorma_ai.kernel.runtime.handling.process.circuits._bounds", [])
    async with running_platform(path, clock) as platform:
        plan = await order(platform, planner(stays_away), stock())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.2):
                await plan.next_wait()
        with pytest.raises(DeadlineExceeded, match=r"it sleeps until .*cannot be reached"):
            await plan.next_wait(timeout=0)
