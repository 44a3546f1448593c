"""A decision with its tool call is two commits; an answer of a model is on disk before anything runs again."""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from kit import as_time_passes, open_platform, order, planner, pursue, stock, wait_for_end
from worst import HAS_BROKER

from soorma_ai import GoalContext, Limits, Platform, PlatformContext
from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.errors import ConfigError, StoreUnavailable, VersionConflict
from soorma_ai.kernel.domain.effects import Ack
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.ports import Settlement, Work
from soorma_ai.kernel.runtime.handling.charges import Charges
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

pytestmark = pytest.mark.skipif(HAS_BROKER, reason="by a broker there are more commits")


def reservations(count: int) -> list[Any]:
    return [publish("inventory.reserve.requested", order_id=str(number)) for number in range(count)]


def count_commits(platform: Platform) -> list[str]:
    store = platform.services.store
    assert isinstance(store, SqliteStore)
    writes: list[str] = []
    connection = store.database.writer.connection
    begun = connection.total_changes

    def look(sql: str) -> None:
        nonlocal begun
        if sql == "COMMIT" and connection.total_changes != begun:
            begun = connection.total_changes
            writes.append(sql)

    connection.set_trace_callback(look)
    return writes


async def commits_of(path: Path, steps: int) -> int:
    async with open_platform(path) as platform:
        await platform.start(planner([*reservations(steps), complete({})], limits=Limits(max_actions=None)), stock())
        commits = count_commits(platform)
        plan = await platform.submit("order.received", {})
        await plan.result(timeout=30)
        return len(commits)


async def test_a_decision_and_its_tool_call_are_two_commits(tmp_path: Path) -> None:
    few, many = await commits_of(tmp_path / "few.db", 4), await commits_of(tmp_path / "many.db", 24)
    assert many - few == 2 * 20


async def test_a_request_its_handling_and_its_reply_are_two_commits(path: Path) -> None:
    async with open_platform(path) as platform:
        await platform.start(stock())
        await platform.request("inventory.reserve.requested", {"order_id": "A"}, timeout=5)
        commits = count_commits(platform)
        for _ in range(5):
            await platform.request("inventory.reserve.requested", {"order_id": "A"}, timeout=5)
        assert len(commits) == 2 * 5


async def test_the_usage_of_a_plan_counts_spent_tokens_without_reserved_ones(platform: Platform) -> None:
    plan = await pursue(platform, "order.received", {}, planner([*reservations(3), complete({})]), stock())
    await plan.result(timeout=5)
    found = await wait_for_end(platform, plan.plan_id)
    assert found.usage.llm_calls == len(found.decisions) == 4
    assert found.usage.tokens == sum(one.prompt_tokens + one.completion_tokens for one in found.decisions)


def failing_once(platform: Platform, error: Callable[[], Exception], is_meant: Callable[[Any], bool]) -> list[Any]:
    """Let one commit fail, without a kill."""
    queue, failed = platform.services.store.queue, list[Any]()
    real = queue.commit

    async def commit(work: Any, now: Any) -> Any:
        if not failed and is_meant(work):
            failed.append(work)
            raise error()
        return await real(work, now)

    queue.commit = commit  # type: ignore[method-assign]
    return failed


@pytest.mark.parametrize(
    "error", [lambda: VersionConflict("somebody was first"), lambda: StoreUnavailable("the disk is full")]
)
async def test_a_models_answer_is_kept_when_the_commit_of_its_step_fails(
    platform: Platform, clock: VirtualClock, error: Callable[[], Exception]
) -> None:
    minds = planner([*reservations(2), complete({})])
    failed = failing_once(platform, error, lambda work: len(work.bill) == 1 and work.bill[0].entry is not None)
    plan = await order(platform, minds, stock())
    await as_time_passes(clock, lambda: platform.plans(status="completed"))
    found = await wait_for_end(platform, plan.plan_id)
    assert len(failed) == 1
    assert found.usage.llm_calls == len(found.decisions) == 3, "no question was asked twice"


async def test_a_handling_with_repeated_conflicts_pauses_and_is_not_lost(
    platform: Platform, clock: VirtualClock
) -> None:
    tried: list[float] = []
    real = platform.services.store.queue.commit

    async def commit(work: Work, now: datetime) -> Any:
        if work.delivery.agent == "stock" and isinstance(work.disposition, Ack):
            tried.append(clock.monotonic())
            if len(tried) < 12:
                raise VersionConflict("another process was first", counts=False)
        return await real(work, now)

    platform.services.store.queue.commit = commit  # type: ignore[method-assign]
    await order(platform, planner([*reservations(1), complete({})]), stock())
    await as_time_passes(clock, lambda: platform.plans(status="completed"))
    pauses = [after - before for before, after in pairwise(tried)]
    assert (len(tried), pauses[-1] >= 1) == (12, True)


async def test_a_handler_run_again_finds_its_own_decision_in_the_journal(platform: Platform) -> None:
    minds = planner([publish("inventory.reserve.requested", order_id="A"), complete({})])
    runs: list[int] = []

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        decision = await minds.reason_next_action("The goal came.", context)
        runs.append(1)
        if len(runs) == 1:
            raise VersionConflict("once more")
        await minds.execute_decision(decision, context)

    plan = await order(platform, minds, stock())
    await plan.result(timeout=5)
    found = await wait_for_end(platform, plan.plan_id)
    assert (len(runs), found.usage.llm_calls, len(found.decisions)) == (2, 2, 2)


CALL = Charge("plan-1", 1, 100, 0.5)
NOTHING = Charge("plan-1", 0, 0, 0.0)


def test_an_unused_reservation_is_given_back_with_the_last_commit_of_its_delivery() -> None:
    bill, answered = Charges(CALL), Settlement(CALL, NOTHING)
    assert bill.take_hold("another") is None
    bill.owe(answered)
    assert bill.settlements == (answered, Settlement(CALL, NOTHING))
    assert bill.take_owed() == [answered]
    assert bill.settlements == (Settlement(CALL, NOTHING),), "after a conflict the next commit gives it back"
    bill.clear()
    assert bill.settlements == ()


async def test_a_failed_claim_is_made_again(platform: Platform, clock: VirtualClock) -> None:
    queue, failed = platform.services.store.queue, list[str]()
    real = queue.claim

    async def claim(agent: str, *given: Any) -> Any:
        if agent == "stock" and len(failed) < 2:
            failed.append(agent)
            raise ConfigError("a row cannot be read")
        return await real(agent, *given)

    queue.claim = claim  # type: ignore[method-assign]
    plan = await order(platform, planner([*reservations(1), complete({})]), stock())
    await as_time_passes(clock, lambda: platform.plans(status="completed"))
    assert (await wait_for_end(platform, plan.plan_id)).status == "completed"
    assert len(failed) == 2


async def test_a_call_that_cannot_be_reserved_leaves_nothing_charged(platform: Platform, clock: VirtualClock) -> None:
    plans, failed = platform.services.store.plans, list[Any]()
    real = plans.reserve

    async def reserve(charge: Any, limits: Any, delivery: Any) -> None:
        if not failed:
            failed.append(charge)
            raise StoreUnavailable("the disk is full")
        await real(charge, limits, delivery)

    plans.reserve = reserve  # type: ignore[method-assign]
    plan = await order(platform, planner([*reservations(1), complete({})]), stock())
    await as_time_passes(clock, lambda: platform.plans(status="completed"))
    found = await wait_for_end(platform, plan.plan_id)
    assert (len(failed), found.usage.llm_calls, len(found.decisions)) == (1, 2, 2)
