"""A dead letter is redriven as the same act with other events, or discarded; a plan that went on is not disturbed."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit import is_idle, open_platform, order, planner, published_events, types, until, wait_for_end
from places import raw

from soorma_ai import Agent, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.features.dead_letters.records import Letter, LetterStatus
from soorma_ai.testing.scripted import complete, publish


class MendableTool:
    """A tool that fails until it is mended, and records the key and the attempt of each call."""

    def __init__(self) -> None:
        self.is_mended = False
        self.calls: list[tuple[str, int]] = []
        self.tool = Tool("till")

        @self.tool.on_invoke("payment.charge.requested")
        async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
            self.calls.append((request.idempotency_key, request.attempt))
            await context.bus.announce("payment.tried", {"mended": self.is_mended})
            if not self.is_mended:
                raise ValueError("no paper")
            return {"charged": True}


async def the_letter(platform: Platform) -> Letter:
    (letter,) = await until(platform, platform.dead_letters)
    return letter


async def dead_request(platform: Platform, **named: Any) -> tuple[MendableTool, Letter]:
    """Return a tool, and the dead letter of a request to it."""
    till = MendableTool()
    await platform.start(till.tool)
    await platform.request("payment.charge.requested", {"amount": 7}, timeout=5, **named)
    return till, await the_letter(platform)


def has(platform: Platform, letter_id: int, status: LetterStatus) -> Callable[[], Any]:
    async def look() -> bool:
        return (await platform.dead_letter(letter_id)).status is status

    return look


async def test_a_letter_holds_its_event_agent_reason_and_attempts(platform: Platform) -> None:
    _, letter = await dead_request(platform)
    assert (letter.agent, letter.event.type, letter.event.data) == ("till", "payment.charge.requested", {"amount": 7})
    assert (letter.reason, letter.attempts, letter.redriven) == ("handler_error: ValueError: no paper", 1, 0)
    assert (letter.tenant_id, letter.plan_id, letter.hindrance) == ("default", None, None)
    assert await platform.dead_letter(letter.letter_id) == letter


async def test_a_redriven_request_is_handled_at_once_as_the_same_act_and_makes_other_events(platform: Platform) -> None:
    till = MendableTool()
    await platform.start(till.tool)
    first = await platform.request("payment.charge.requested", {}, timeout=5, idempotency_key="k")
    letter = await the_letter(platform)
    assert await platform.request("payment.charge.requested", {}, timeout=5, idempotency_key="k") == first
    till.is_mended = True
    assert await platform.redrive(letter.letter_id)
    await until(platform, has(platform, letter.letter_id, LetterStatus.HANDLED))
    await until(platform, lambda: is_idle(platform))
    assert len(set(till.calls)) == 1 and len(till.calls) == 2, "the same key, and the first attempt again"
    replies = await published_events(platform, topic="action-results")
    assert [reply.data["success"] for reply in replies] == [False, True]
    assert replies[0].id != replies[1].id
    assert await types(platform, topic="business-facts") == ["payment.tried"]
    again = await platform.request("payment.charge.requested", {}, timeout=5, idempotency_key="k")
    assert (again["success"], again["result"]) == (True, {"charged": True}), "the failure stands no more"


async def test_a_plan_that_went_on_does_not_take_the_reply_of_a_redriven_request(
    platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    till = MendableTool()
    orders = planner([publish("payment.charge.requested"), publish("payment.charge.requested", n=2), complete({})])
    handle = await order(platform, orders, till.tool)
    plan = await wait_for_end(platform, handle.plan_id)
    assert plan.status == "completed"
    failure = next(step.data for step in plan.steps if step.kind == "replied")
    assert failure["message"] == "ValueError: no paper (a fault in the agent: asking again will not help)"
    later, first = await platform.dead_letters()
    assert (first.plan_id, first.root_plan_id, first.hindrance) == (handle.plan_id, handle.plan_id, None)
    till.is_mended = True
    with caplog.at_level(logging.INFO, "soorma_ai"):
        assert await platform.redrive(first.letter_id)
        await until(platform, has(platform, first.letter_id, LetterStatus.HANDLED))
        await until(platform, lambda: "reason=surplus" in caplog.text)
    assert await platform.plan(handle.plan_id) == plan
    assert (await platform.dead_letter(later.letter_id)).status is LetterStatus.DEAD


async def test_the_letter_of_a_failed_plan_cannot_be_redriven_and_is_discarded_with_a_reason(
    platform: Platform,
) -> None:
    orders = planner([])

    @orders.on_goal("order.received")
    async def begin(goal: Any, context: PlatformContext) -> None:
        raise KeyError("price")

    handle = await order(platform, orders)
    plan = await wait_for_end(platform, handle.plan_id)
    letter = await the_letter(platform)
    assert (letter.plan_id, letter.event.type) == (handle.plan_id, "order.received")
    assert letter.hindrance is not None
    with pytest.raises(
        LocalProtocolError, match=r"cannot be redriven: plan .* has ended \(failed\).* submit the goal again"
    ):
        await platform.redrive(letter.letter_id)
    assert await platform.dead_letter(letter.letter_id) == letter
    assert await platform.plan(handle.plan_id) == plan
    ann = platform.as_user(tenant_id="default", user_id="ann", roles={"operator"})
    assert await ann.discard(letter.letter_id, "paid in cash")
    assert await platform.dead_letters() == []
    gone = await platform.dead_letter(letter.letter_id)
    said = "discarded by ann: paid in cash; it had died of handler_error: KeyError: 'price'"
    assert (gone.status, gone.reason) == (LetterStatus.DISCARDED, said)


async def test_letters_of_another_tenant_are_not_found(platform: Platform) -> None:
    _, letter = await dead_request(platform)
    other = platform.as_user(tenant_id="other", user_id="eve")
    assert await other.dead_letters() == []
    for call in (other.dead_letter, other.redrive, other.discard):
        with pytest.raises(NotFound, match=f"no dead letter {letter.letter_id} in tenant 'other'"):
            await call(letter.letter_id)
    assert await platform.dead_letter(letter.letter_id) == letter


async def test_an_event_that_cannot_arrive_is_set_aside_and_the_others_of_its_batch_arrive(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Any] = []
    listener = Agent("listener")

    @listener.on_event("*", topic="business-facts")
    async def hear(event: Any, context: PlatformContext) -> None:
        heard.append(event.data["n"])

    async with open_platform(path) as platform:
        await platform.start(MendableTool().tool)
    async with open_platform(path) as platform:
        request_id = await _request_with_a_damaged_expectation(platform, path)
        await platform.publish("business-facts", "ping", {"n": 1})
        answer = "payment.charge.requested.completed"
        await platform.publish("action-results", answer, {}, correlation_id=request_id)
        await platform.publish("business-facts", "ping", {"n": 2})
        assert len(await platform.services.store.queue.unsent(9)) == 4, "one batch"
        await platform.start(listener)

        async def have_arrived() -> bool:
            return len(heard) == 2 and not await platform.services.store.queue.unsent(1)

        await until(platform, have_arrived)
        (letter,) = await platform.dead_letters()
        assert (letter.agent, letter.event.type) == ("", answer)
        assert letter.reason.startswith("cannot_arrive: config: a stored Expectation cannot be read")
        assert "event_set_aside" in caplog.text
        assert await platform.redrive(letter.letter_id)

        async def is_dead_again() -> bool:
            return (await platform.dead_letter(letter.letter_id)).attempts == 1

        await until(platform, is_dead_again)


async def _request_with_a_damaged_expectation(platform: Platform, path: Path) -> str:
    """Make a request with a damaged expectation: the arrival of any reply to it fails."""
    store = platform.services.store
    asking = asyncio.create_task(platform.request("payment.charge.requested", {}))
    (expectation,) = await until(platform, lambda: store.plans.expectations(tenant_id="default"))
    with raw(path) as owner:
        owner.execute("UPDATE expectation SET rest = '{}'")
    asking.cancel()
    return expectation.id
