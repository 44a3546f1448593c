"""A tool that must not act twice: a handling with an unseen end becomes a question, and is never silently repeated."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit import (
    AMOUNT,
    PATIENCE,
    as_time_passes,
    happens,
    is_idle,
    kill_platform,
    open_platform,
    order,
    planner,
    published_events,
    running_platform,
    stock,
    the_wait,
    until,
    wait_for_end,
)

from soorma_ai import InvocationContext, PlatformContext, Reject, Retry, Tool
from soorma_ai.errors import ConfigError, TransientError
from soorma_ai.kernel.domain.doubts import Done, NotDone, StillUnknown
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

ASKED = "payment.charge.requested"
RECEIPT = {"type": "object", "properties": {"receipt": {"type": "string"}}, "required": ["receipt"]}
Handler = Callable[[InvocationContext], Any]


def bank(handler: Handler, **options: Any) -> Tool:
    """A tool without a key in its outside calls."""
    tool = Tool("bank", effects="at_most_once")

    @tool.on_invoke(ASKED, payload_schema=AMOUNT, response_schema=RECEIPT, **options)
    async def charge(request: InvocationContext, context: PlatformContext) -> Any:
        return await handler(request)

    return tool


class Bank:
    """An account. `fails` is raised after money has moved."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.charges = 0
        self.fails = fails

    async def charge(self, request: InvocationContext) -> dict[str, str]:
        self.charges += 1
        if self.fails is not None:
            raise self.fails
        return {"receipt": f"r-{self.charges}"}


def buying_planner() -> Any:
    def decide(question: ModelQuestion) -> Any:
        """Read from the prompt how far the plan is, in any process."""
        asked = f"You published {ASKED}" in question.messages[-1].content
        return complete({"paid": True}) if asked else publish(ASKED, amount=5)

    return planner(decide)


async def kill_in_the_middle(path: Path, clock: VirtualClock) -> str:
    """Kill the process after the tool has begun, and return the plan's id."""
    platform, moved = open_platform(path, clock), asyncio.Event()

    async def never_ends(request: InvocationContext) -> None:
        moved.set()
        await asyncio.Event().wait()

    await platform.__aenter__()
    plan = await order(platform, buying_planner(), bank(never_ends))
    await happens(moved)
    await kill_platform(platform)
    return plan.plan_id


@pytest.mark.parametrize(
    ("answer", "charges"),
    [({"outcome": "done", "result": {"receipt": "r-0"}}, 0), ({"outcome": "not_done"}, 1)],
    ids=["it was done", "it was not done"],
)
async def test_a_kill_in_the_middle_is_a_question_to_a_person(
    path: Path, clock: VirtualClock, answer: dict[str, Any], charges: int
) -> None:
    plan_id = await kill_in_the_middle(path, clock)
    account = Bank()
    async with running_platform(path, clock, buying_planner(), bank(account.charge)) as platform:
        question = await the_wait(platform)
        assert (question.reason, question.expected_event, question.agent) == ("in_doubt", ASKED, "bank")
        assert question.root_plan_id == plan_id
        assert '{"amount":5}' in question.message
        assert account.charges == 0
        assert await platform.answer(question.wait_id, answer) == "accepted"
        plan = await wait_for_end(platform, plan_id)
        assert (plan.status, account.charges) == ("completed", charges)
        assert [step.kind for step in plan.steps].count("replied") == 1
        assert await platform.waits() == []


@pytest.mark.parametrize("raised", [ZeroDivisionError("oops"), TransientError("the line went dead")])
async def test_an_error_after_the_handler_began_is_in_doubt_too(
    path: Path, clock: VirtualClock, raised: Exception
) -> None:
    account = Bank(fails=raised)
    async with open_platform(path, clock) as platform:
        plan = await order(platform, buying_planner(), bank(account.charge))
        question = await the_wait(platform)
        assert str(raised) in question.message
        account.fails = None
        await clock.advance(3600)
        assert account.charges == 1
        await platform.answer(question.wait_id, {"outcome": "done", "result": {"receipt": "r-1"}})
        assert await plan.result(timeout=PATIENCE) == {"paid": True}
        assert account.charges == 1


async def test_a_retry_of_an_at_most_once_handler_runs_it_again_without_a_question(
    path: Path, clock: VirtualClock
) -> None:
    tries: list[int] = []

    async def charge(request: InvocationContext) -> dict[str, str]:
        tries.append(request.attempt)
        if len(tries) < 3:
            raise Retry("not sent", after=None)
        return {"receipt": "r"}

    async with running_platform(path, clock, buying_planner(), bank(charge)) as platform:
        await platform.submit("order.received", {})
        await as_time_passes(clock, lambda: platform.plans(status="completed"))
        assert (tries, await platform.waits()) == ([1, 2, 3], [])


async def test_a_rejection_of_an_at_most_once_handler_is_believed(path: Path, clock: VirtualClock) -> None:
    account = Bank(fails=Reject("no such card", code="no_card"))
    async with open_platform(path, clock) as platform:
        plan = await order(platform, buying_planner(), bank(account.charge))
        assert await plan.result(timeout=PATIENCE) == {"paid": True}
        assert (account.charges, await platform.waits()) == (1, [])


@pytest.mark.parametrize(
    ("finding", "charges", "asks"),
    [(Done({"receipt": "r-0"}), 0, False), (StillUnknown("the bank is closed"), 1, True)],
    ids=["done", "unknown"],
)
async def test_a_hook_is_asked_before_a_person(
    path: Path, clock: VirtualClock, finding: object, charges: int, asks: bool
) -> None:
    plan_id = await kill_in_the_middle(path, clock)
    account = Bank()
    keys: list[str] = []

    async def look_it_up(request: InvocationContext, context: PlatformContext) -> object:
        keys.append(request.idempotency_key)
        return finding

    async with running_platform(path, clock, buying_planner(), bank(account.charge, reconcile=look_it_up)) as platform:
        if asks:
            question = await the_wait(platform)
            assert "the bank is closed" in question.message
            await platform.answer(question.wait_id, {"outcome": "not_done"})
        assert (await wait_for_end(platform, plan_id)).status == "completed"
        assert (account.charges, len(keys)) == (charges, 1)
        assert len([e for e in await published_events(platform) if e.type == ASKED]) == 1


@pytest.mark.parametrize("later", [TransientError("the bank does not answer"), Retry("the books are closed")])
async def test_a_hook_unable_to_look_now_looks_again_later(path: Path, clock: VirtualClock, later: Exception) -> None:
    """A Retry of the hook is none of the handler: nothing is known yet."""
    await kill_in_the_middle(path, clock)
    account, looks = Bank(), 0

    async def look_it_up(request: InvocationContext, context: PlatformContext) -> Done:
        nonlocal looks
        looks += 1
        if looks < 3:
            raise later
        return Done({"receipt": "r-0"})

    async with running_platform(path, clock, buying_planner(), bank(account.charge, reconcile=look_it_up)) as platform:
        await as_time_passes(clock, lambda: platform.plans(status="completed"))
        assert (account.charges, looks) == (0, 3)


def test_an_unknown_effects_value_or_a_needless_hook_is_refused() -> None:
    with pytest.raises(ConfigError, match="give pure, keyed, at_most_once"):
        Tool("bank", effects="twice")
    with pytest.raises(ConfigError, match="for effects='at_most_once' only"):
        Tool("bank").on_invoke(ASKED, reconcile=lambda request, context: NotDone())


async def test_a_request_answered_as_not_done_is_not_run_for_a_cancelled_plan(path: Path, clock: VirtualClock) -> None:
    plan_id = await kill_in_the_middle(path, clock)
    account = Bank()
    async with running_platform(path, clock, buying_planner(), bank(account.charge)) as platform:
        question = await the_wait(platform)
        await platform.cancel(plan_id)
        await wait_for_end(platform, plan_id)
        assert await platform.answer(question.wait_id, {"outcome": "not_done"}) == "accepted"
        await until(platform, lambda: is_idle(platform))
        assert account.charges == 0


async def test_an_answer_about_a_request_without_a_handler_still_ends_the_request(
    path: Path, clock: VirtualClock
) -> None:
    plan_id = await kill_in_the_middle(path, clock)
    async with running_platform(
        path, clock, buying_planner(), Tool("bank", events_produced=["seen"]), stock()
    ) as platform:
        question = await the_wait(platform)
        await platform.answer(question.wait_id, {"outcome": "done", "result": {"receipt": "r-0"}})
        plan = await wait_for_end(platform, plan_id)
        (replied,) = [step for step in plan.steps if step.kind == "replied"]
        assert replied.data["code"] == "in_doubt"  # type: ignore[index,call-overload]
        assert [letter.agent for letter in await platform.dead_letters()] == ["bank"]


async def test_an_always_retrying_handler_runs_again_when_its_letter_is_redriven(
    path: Path, clock: VirtualClock
) -> None:
    account = Bank(fails=Retry("not sent"))
    async with running_platform(path, clock, buying_planner(), bank(account.charge)) as platform:
        await platform.submit("order.received", {})
        (letter,) = await as_time_passes(clock, platform.dead_letters)
        account.fails = None
        before = account.charges
        assert await platform.redrive(letter.letter_id)
        await until(platform, lambda: is_idle(platform))
        assert (account.charges, await platform.waits()) == (before + 1, [])
