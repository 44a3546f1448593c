"""Checked by pyright, never run: the calls of a program outside the agents."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any, assert_type

from pydantic import JsonValue

from soorma_ai import EventEnvelope, PlanCancelled, PlanFailed, PlanHandle, Platform, SoormaError, Tool, Wait
from soorma_ai.features.dead_letters.records import Letter
from soorma_ai.kernel.domain.people import AnswerOutcome
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.local_client import LocalClient


async def submits_and_follows() -> None:
    async with Platform("sqlite:///orders.db") as platform:
        assert_type(platform, Platform)
        await platform.start(Tool("a"), Tool("b"))
        plan = await platform.submit("order.received", {"order_id": "A1"}, idempotency_key="click", planner="orders")
        assert_type(plan, PlanHandle)
        assert_type(plan.plan_id, str)
        try:
            assert_type(await plan.result(timeout=timedelta(minutes=1)), Any)
            await plan.result(timeout=1.5)
            await plan.result()
        except PlanCancelled as cancelled:
            assert_type(cancelled.reason, str)
        except PlanFailed as failed:
            assert_type(failed.plan_id, str)
        except SoormaError as error:
            assert_type(error.code, str)
        assert_type(plan.events(), AsyncIterator[EventEnvelope])
        async for event in plan.events():
            assert_type(event.time, datetime)


async def asks_and_looks(platform: Platform) -> None:
    reply = await platform.request("payment.status.asked", {"order_id": "A1"}, timeout=5)
    assert_type(reply, dict[str, JsonValue])
    assert_type(await platform.publish("business-facts", "order.lost", {"order_id": "A1"}), str)
    details = await platform.plan("plan-1")
    assert_type(details.status, PlanStatus)
    if details.status == "completed":
        assert_type(details.result, JsonValue)
    assert_type(details.usage.llm_calls, int)
    assert_type(await platform.cancel("plan-1", "changed our mind"), bool)
    assert_type(await platform.follow("plan-1"), PlanHandle)
    for plan in await platform.plans(status="paused", limit=5):
        assert_type(plan.goal_event, str)


async def answers(platform: Platform, plan: PlanHandle) -> str:
    maria = platform.as_user(tenant_id="default", user_id="maria", roles={"manager"})
    assert_type(maria, LocalClient)
    assert_type(await plan.next_wait(), Wait | None)
    assert_type(await plan.next_wait(timeout=20), Wait | None)
    for wait in await maria.waits():
        assert_type(wait, Wait)
        assert_type(wait.deadline, datetime | None)
        outcome = await maria.answer(wait.wait_id, {"approved": True}, decision="approve", note="go", answer_id="1")
        assert_type(outcome, AnswerOutcome)
        assert_type(outcome.detail, str)
        if outcome == "accepted":
            return outcome
        if outcome in ("duplicate", "late"):
            return outcome.detail
    return ""


async def redrives(platform: Platform) -> None:
    for letter in await platform.dead_letters(limit=5):
        assert_type(letter, Letter)
        assert_type(letter.event, EventEnvelope)
        if letter.hindrance is None:
            assert_type(await platform.redrive(letter.letter_id), bool)
        else:
            assert_type(await platform.discard(letter.letter_id, note=letter.hindrance), bool)
        assert_type((await platform.dead_letter(letter.letter_id)).reason, str)


async def type_errors(platform: Platform) -> None:
    await platform.start("stock")  # pyright: ignore[reportArgumentType]
    await platform.submit("order.received", "A1")  # pyright: ignore[reportArgumentType]
    platform.as_user("default", "maria")  # pyright: ignore[reportCallIssue]
    Tool("a", max_inflight=3)  # pyright: ignore[reportCallIssue]
