"""Data with expensive checks at every border: the loop serves others between their slices."""

import asyncio
from typing import Any

import pytest
from kit import PATIENCE, happens, payments, planner, stock, the_wait
from unit.worst_data import KINDS, UNION, count_slices, items_of

from soorma_ai import (
    Agent,
    Approval,
    EventDecision,
    EventDefinition,
    EventEnvelope,
    EventSelector,
    GoalContext,
    InvocationContext,
    Planner,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import LocalProtocolError, PayloadMismatch, PlanFailed
from soorma_ai.kernel.domain import schemas
from soorma_ai.kernel.domain.slices import sliced
from soorma_ai.kernel.domain.verdicts import Verdicts
from soorma_ai.kernel.rules.schemas import nulls
from soorma_ai.kernel.runtime.handling import check_ahead
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

SCHEMA = items_of(UNION)
BAD: Any = {"items": list(range(20_000))}
GOOD: Any = {"items": [{"kind": "a", "v": "x"}]}


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the turns of the loop left to others by each large check."""
    counted: list[int] = []
    monkeypatch.setattr(check_ahead, "examine", count_slices(counted))
    monkeypatch.setattr(schemas, "_VERDICTS", Verdicts())
    return counted


def taker(schema: Any = SCHEMA, answer: Any = None, promised: Any = None) -> Tool:
    tool = Tool("taker")

    @tool.on_invoke("shape.requested", payload_schema=schema, response_schema=promised)
    async def take(request: InvocationContext, context: PlatformContext) -> Any:
        return answer or {}

    return tool


async def test_a_clients_request_is_checked_in_slices(platform: Platform, slices: list[int]) -> None:
    await platform.start(taker())
    with pytest.raises(LocalProtocolError, match="and more"):
        await platform.request("shape.requested", BAD, timeout=PATIENCE)
    assert max(slices) > 1
    assert (await platform.request("shape.requested", GOOD, timeout=PATIENCE))["success"] is True  # type: ignore[index]


async def test_others_are_served_between_the_slices(platform: Platform) -> None:
    await platform.start(taker(), stock())
    refused = asyncio.ensure_future(platform.request("shape.requested", BAD, timeout=PATIENCE))
    turns = 0
    while not refused.done():
        await asyncio.sleep(0)
        turns += 1
    assert isinstance(refused.exception(), LocalProtocolError)
    assert turns > 5


async def test_a_goal_is_checked_in_slices(platform: Platform, slices: list[int]) -> None:
    await platform.start(planner([complete()], goals=[EventDefinition(event_name="g", payload_schema=SCHEMA)]))
    with pytest.raises(LocalProtocolError, match="and more"):
        await platform.submit("g", BAD)
    assert max(slices) > 1


async def test_a_reply_is_checked_in_slices(platform: Platform, slices: list[int]) -> None:
    await platform.start(taker({"type": "object"}, BAD, SCHEMA))
    reply: Any = await platform.request("shape.requested", {}, timeout=PATIENCE)
    assert reply["success"] is False and "and more" in reply["error"]["message"]
    assert max(slices) > 1


async def test_a_handlers_request_is_checked_in_slices(platform: Platform, slices: list[int]) -> None:
    worker = Worker("asker")

    @worker.on_task("ask.requested")
    async def ask(task: TaskContext[Any], context: PlatformContext) -> None:
        await task.delegate("shape.requested", BAD, "shape.done")

    @worker.on_result("shape.done")
    async def never(result: ResultContext, context: PlatformContext) -> None:
        raise AssertionError

    await platform.start(worker, taker())
    reply: Any = await platform.request("ask.requested", {}, timeout=PATIENCE)
    assert reply["success"] is False
    assert max(slices) > 1


async def test_a_models_payload_is_checked_in_slices(platform: Platform, slices: list[int]) -> None:
    script = [publish("shape.requested", **BAD), publish("shape.requested", **GOOD), complete()]
    await platform.start(planner(script), taker())
    plan = await platform.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    assert max(slices) > 1


@pytest.mark.parametrize("asks", [True, False], ids=["of a model", "of an author"])
async def test_a_chosen_event_is_checked_in_slices(platform: Platform, slices: list[int], asks: bool) -> None:
    refused, agent = asyncio.Event(), Agent("guide")

    @agent.on_event("wish.made", topic="business-facts")
    async def hear(event: EventEnvelope, context: PlatformContext) -> None:
        script = ScriptedReasoner([publish("shape.requested", **BAD)] * 3)
        selector = EventSelector(context, "action-requests", reasoner=script)
        try:
            if asks:
                await selector.select_event({})
            else:
                await selector.publish_decision(EventDecision(event_type="shape.requested", data=BAD, reasoning=""))
        except PayloadMismatch:
            refused.set()

    await platform.start(agent, taker())
    await platform.publish("business-facts", "wish.made", {})
    await happens(refused)
    assert max(slices) > 1


async def test_an_answer_is_checked_in_slices(platform: Platform, slices: list[int]) -> None:
    script = [publish("payment.charge.requested", amount=5), complete()]
    await platform.start(planner(script), payments(Approval(response_schema=SCHEMA)))
    await platform.submit("order.received", {})
    wait = await the_wait(platform)
    outcome = await platform.answer(wait.wait_id, {"approved": True, **BAD})
    assert outcome == "invalid" and "and more" in outcome.detail
    assert max(slices) > 1


async def test_nulls_of_a_models_payload_are_removed_in_slices(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are removed in slices: a counter of the loop's turns gets on between them."""
    turns, seen = [0], list[int]()

    async def count() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    def watched(work: Any, *bounds: Any) -> Any:
        slices = sliced(work, *bounds)
        while True:
            try:
                next(slices)
            except StopIteration as end:
                return end.value
            seen.append(turns[0])
            yield

    monkeypatch.setattr(nulls, "sliced", watched)
    script = [publish("shape.requested", items=[{"x4": 1, "note": None}] * 20_000), complete()]
    note: Any = {"type": "string"}
    item: Any = {"anyOf": [{"properties": {"note": note}, "required": [f"x{number}"]} for number in range(5)]}
    await platform.start(planner(script), taker(items_of(item)))
    counting = asyncio.ensure_future(count())
    plan = await platform.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    counting.cancel()
    assert len(set(seen)) == len(seen) > 2


async def test_a_state_machines_template_of_a_result_is_checked_in_slices(
    platform: Platform, slices: list[int]
) -> None:
    author = planner([], goals=[EventDefinition(event_name="g", response_schema=SCHEMA)])
    machine: Any = {"start": {"is_terminal": True, "result": {"items": "{goal_data.items}"}}}

    @author.on_goal("g", state_machine=machine)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        return

    await platform.start(author)
    plan = await platform.submit("g", BAD)
    with pytest.raises(PlanFailed, match="and more"):
        await plan.result(timeout=PATIENCE)
    assert max(slices) > 1


async def test_templates_of_more_than_an_event_holds_fail_the_plan(platform: Platform) -> None:
    author = Planner("author")
    machine: Any = {"start": {"is_terminal": True, "result": ["{goal_data.text}"] * 40}}

    @author.on_goal("g", state_machine=machine)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        return

    await platform.start(author)
    plan = await platform.submit("g", {"text": "x" * 2**15})
    with pytest.raises(PlanFailed, match=r"max_event_bytes .with \{goal_data.text\}"):
        await plan.result(timeout=PATIENCE)


@pytest.mark.parametrize("kind", KINDS)
async def test_each_kind_of_schema_is_refused_at_the_door(platform: Platform, slices: list[int], kind: str) -> None:
    schema, make = KINDS[kind]
    await platform.start(taker(schema))
    if kind == "uniqueItems":
        await platform.request("shape.requested", make(2**18), timeout=PATIENCE)
    else:
        with pytest.raises(LocalProtocolError, match="off its schema"):
            await platform.request("shape.requested", make(2**18), timeout=PATIENCE)
    assert slices[0] >= 1
