"""Tools answer, workers end their tasks, agents react; a failure reaches its asker."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from kit import events, is_idle, open_platform, pass_time, running_platform, until
from pydantic import BaseModel

from soorma_ai import (
    Agent,
    AgentCapability,
    EventDefinition,
    InvocationContext,
    Platform,
    PlatformContext,
    Reject,
    Retry,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import DeadlineExceeded, NotFound, TransientError
from soorma_ai.kernel.domain.registry import EventRole
from soorma_ai.testing.clock import VirtualClock


class Sum(BaseModel):
    a: int
    b: int


class Total(BaseModel):
    total: int


def adder() -> Tool:
    tool = Tool("adder")

    @tool.on_invoke("sum.requested")
    async def add(request: InvocationContext[Sum], context: PlatformContext) -> Total:
        """Adds two numbers."""
        return Total(total=request.data.a + request.data.b)

    return tool


async def test_a_typed_handler_registers_its_schemas_and_gets_its_model(platform: Platform) -> None:
    await platform.start(adder())
    reply = await platform.request("sum.requested", {"a": 2, "b": 3}, timeout=5)
    assert (reply["success"], reply["status"], reply["result"]) == (True, "completed", {"total": 5})
    known = (await platform.services.store.registry.all_events("default"))[0].definition
    assert known.description == "Adds two numbers."
    assert set(known.payload_schema["properties"]) == {"a", "b"}  # type: ignore[arg-type]
    assert known.response_schema is not None


async def test_a_request_without_a_taker_fails_with_the_names_of_the_known_events(platform: Platform) -> None:
    await platform.start(adder())
    with pytest.raises(NotFound, match=r"known requests: sum\.requested"):
        await platform.request("product.requested", {}, timeout=5)
    with pytest.raises(NotFound, match="known goals: none"):
        await platform.submit("world.peace", {})


@pytest.mark.parametrize(
    ("raised", "code", "letters"),
    [
        (Reject("too old", code="expired"), "expired", []),
        (ZeroDivisionError("oops"), "handler_error", ["handler_error: ZeroDivisionError: oops"]),
    ],
)
async def test_a_bug_in_a_handler_leaves_a_dead_letter_and_a_rejection_does_not(
    platform: Platform, raised: Exception, code: str, letters: list[str]
) -> None:
    tool = Tool("fragile")

    @tool.on_invoke("break.requested")
    async def fail(request: InvocationContext, context: PlatformContext) -> None:
        await context.bus.announce("half.done", {})
        raise raised

    await platform.start(tool)
    reply: Any = await platform.request("break.requested", {}, timeout=5)
    assert (reply["success"], reply["error"]["code"]) == (False, code)
    assert [letter.reason for letter in await platform.dead_letters()] == letters
    assert "half.done" not in [event.type for event in await events(platform)], "nothing of it happened"


async def test_a_transient_error_or_retry_runs_a_handler_again_with_the_same_key(
    platform: Platform, clock: VirtualClock
) -> None:
    seen: list[tuple[int, str]] = []
    tool = Tool("flaky")

    @tool.on_invoke("call.requested")
    async def call(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        seen.append((request.attempt, request.idempotency_key))
        if request.attempt < 3:
            raise TransientError("line is busy") if request.attempt == 1 else Retry("again")
        await context.bus.announce("call.made", {"attempt": request.attempt})
        return {"attempts": request.attempt}

    await platform.start(tool)
    asking = asyncio.ensure_future(platform.request("call.requested", {}, timeout=600))
    while not asking.done():
        await pass_time(platform, clock, timedelta(seconds=0.5))
    assert (await asking)["result"] == {"attempts": 3}
    assert [attempt for attempt, _ in seen] == [1, 2, 3]
    assert len({key for _, key in seen}) == 1
    assert [event.type for event in await events(platform)].count("call.made") == 1


async def test_a_worker_completes_or_fails_its_task_once(platform: Platform) -> None:
    worker = Worker("clerk")

    @worker.on_task("file.requested", response_schema={"type": "object", "required": ["shelf"]})
    async def file(task: TaskContext[dict[str, Any]], context: PlatformContext) -> None:
        match task.data.get("how"):
            case "fail":
                await task.fail("no room", code="full")
            case "twice":
                await task.complete({"shelf": 1})
                await task.complete({"shelf": 2})
            case "off":
                await task.complete({})
            case _:
                await task.complete({"shelf": 3})

    await platform.start(worker)

    async def outcome(how: str) -> Any:
        reply = await platform.request("file.requested", {"how": how}, timeout=5)
        return reply.get("result") or reply["error"]["code"]  # type: ignore[index,call-overload]

    assert await outcome("well") == {"shelf": 3}
    assert await outcome("fail") == "full"
    assert [await outcome(how) for how in ("twice", "off")] == ["local_protocol", "invalid_result"]


async def test_a_missing_reply_is_a_deadline_error_and_the_same_key_finds_it_later(
    platform: Platform, clock: VirtualClock
) -> None:
    slow, go = Tool("slow"), asyncio.Event()

    @slow.on_invoke("slow.requested")
    async def wait(request: InvocationContext, context: PlatformContext) -> int:
        await go.wait()
        return 42

    await platform.start(slow)
    asking = asyncio.ensure_future(platform.request("slow.requested", {}, timeout=2, idempotency_key="k"))
    while not asking.done():
        await asyncio.sleep(0.001)
        await clock.advance(0.5)
    with pytest.raises(DeadlineExceeded):
        await asking
    go.set()
    assert (await platform.request("slow.requested", {}, timeout=5, idempotency_key="k"))["result"] == 42


async def test_an_agent_hears_facts_and_wildcards_and_lineage_is_inherited(platform: Platform) -> None:
    heard: list[tuple[str, str, str | None]] = []
    listener, loud = Agent("listener"), Agent("loud")

    @listener.on_event("order.placed", topic="business-facts")
    async def exact(event: Any, context: PlatformContext) -> None:
        heard.append(("exact", event.event_type, event.session_id))
        await context.bus.announce("order.seen", {"by": context.agent_id})

    @loud.on_event("*", topic="business-facts")
    async def every(event: Any, context: PlatformContext) -> None:
        heard.append(("every", event.type, event.session_id))

    await platform.start(listener, loud)
    await platform.publish("business-facts", "order.placed", {}, session_id="s1")
    await until(platform, lambda: len(heard) == 3)
    assert sorted(heard) == [
        ("every", "order.placed", "s1"),
        ("every", "order.seen", "s1"),
        ("exact", "order.placed", "s1"),
    ]


async def test_one_tenant_never_sees_anothers_events_goals_or_replies(platform: Platform) -> None:
    heard: list[str] = []
    for tenant in ("acme", "other"):
        agent = Agent(f"{tenant}-ear", tenant_id=tenant)

        @agent.on_event("order.placed", topic="business-facts")
        async def hear(event: Any, context: PlatformContext, tenant: str = tenant) -> None:
            heard.append(tenant)

        await platform.start(agent)
    maria = platform.as_user(tenant_id="acme", user_id="maria")
    await maria.publish("business-facts", "order.placed", {})
    await until(platform, lambda: heard)
    await until(platform, lambda: is_idle(platform))
    assert heard == ["acme"]


async def test_hooks_run_before_the_first_event_and_after_the_last(path: Any) -> None:
    happened, tool = list[str](), Tool("hooked")

    @tool.on_startup
    async def begin() -> None:
        happened.append("start")

    tool.on_shutdown(lambda: happened.append("stop"))
    tool.on_invoke("hook.requested")(lambda request, context: happened.append("work"))
    async with running_platform(path, None, tool) as platform:
        assert (await platform.request("hook.requested", {}, timeout=5))["success"]
    assert happened == ["start", "work", "stop"]


async def test_a_request_to_an_absent_agent_is_handled_when_it_is_back(path: Any, clock: VirtualClock) -> None:
    async with open_platform(path, clock) as platform:
        await platform.start(adder())
    async with open_platform(path, clock) as platform:
        with pytest.raises(DeadlineExceeded):
            await platform.request("sum.requested", {"a": 1, "b": 1}, timeout=0, idempotency_key="k")
    async with running_platform(path, clock, adder()) as platform:
        reply = await platform.request("sum.requested", {"a": 1, "b": 1}, timeout=5, idempotency_key="k")
        assert reply["result"] == {"total": 2}


async def test_a_capability_describes_and_does_not_subscribe() -> None:
    described = EventDefinition(
        event_name="calculate.requested", payload_schema={"type": "object", "required": ["expression"]}
    )
    tool = Tool("calculator", capabilities=[AgentCapability(task_name="calculate", consumed_event=described)])
    assert tool.events_consumed == []

    @tool.on_invoke("calculate.requested")
    async def calculate(request: InvocationContext, context: PlatformContext) -> int:
        return 4

    assert tool.events_consumed == ["calculate.requested"]
    assert tool.registration().events[0][1].payload_schema == described.payload_schema


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("at_the_handler", [False, True])
def test_an_event_joins_the_declarations_of_its_capability_and_its_handler(typed: bool, at_the_handler: bool) -> None:
    careful: dict[str, Any] = {"approval": "always", "irreversible": True}
    described = EventDefinition(
        event_name="sum.requested",
        description="Adds.",
        payload_schema={"type": "object", "required": ["a"]},
        **({} if at_the_handler else careful),
    )
    tool = Tool("adder", capabilities=[AgentCapability(task_name="add", consumed_event=described)])
    takes = {"type": "object", "required": ["a", "b"]} if typed else None

    @tool.on_invoke("sum.requested", payload_schema=takes, **(careful if at_the_handler else {}))
    async def add(request: InvocationContext, context: PlatformContext) -> int:
        return 4

    _, registered = tool.registration().events[0]
    assert registered.approval is not None and registered.irreversible
    assert registered.payload_schema == (takes or described.payload_schema)
    assert (registered.description, registered.response_schema) == ("Adds.", {"type": "integer"})


def test_equal_content_of_capability_or_handler_has_one_version() -> None:
    shape = {"type": "object", "required": ["a"]}
    capability = AgentCapability(
        task_name="add", consumed_event=EventDefinition(event_name="sum.requested", payload_schema=shape)
    )

    def registered(version: str = "", answer: Any = None, *, typed: bool = False) -> EventDefinition:
        tool = Tool("adder", capabilities=[capability])

        @tool.on_invoke(
            "sum.requested", version=version, response_schema=answer, payload_schema=shape if typed else None
        )
        async def add(request: InvocationContext, context: PlatformContext): ...

        return tool.registration().events[0][1]

    assert registered() == capability.consumed_event
    assert registered(answer={"type": "integer"}) == registered(answer={"type": "integer"}, typed=True)
    assert registered(answer={"type": "integer"}).version != registered().version
    assert registered("2").version == "2"


@pytest.mark.parametrize("answer", [None, {"type": "integer"}])
async def test_a_handler_may_add_an_answer_schema_to_a_versioned_capability(platform: Platform, answer: Any) -> None:
    described = EventDefinition(event_name="sum.requested", version="2")
    known = EventDefinition(event_name="sum.known", topic="action-results", payload_schema={"type": "integer"})
    capability = AgentCapability(task_name="add", consumed_event=described, produced_events=[known])
    tool = Tool("adder", capabilities=[capability])

    @tool.on_invoke("sum.requested", response_schema=answer)
    async def add(request: InvocationContext, context: PlatformContext):
        return 4

    await platform.start(tool)
    (taken,) = [one for one in await platform.registry.events(owner="adder") if one.role is EventRole.TAKES]
    assert (taken.definition == described) is (answer is None)
    assert (await platform.request("sum.requested", {}, timeout=5))["result"] == 4


@pytest.mark.parametrize("kind", ["tool", "worker", "handler"])
async def test_a_result_off_the_schema_of_its_handler_or_capability_is_not_sent(platform: Platform, kind: str) -> None:
    promised = {"type": "object", "required": ["total"]}
    known = EventDefinition(event_name="sum.known", topic="action-results", payload_schema=promised)
    asked = EventDefinition(event_name="sum.requested")
    capability = AgentCapability(task_name="add", consumed_event=asked, produced_events=[known])
    capabilities = [] if kind == "handler" else [capability]
    tool, worker = Tool("adder", capabilities=capabilities), Worker("adder", capabilities=capabilities)
    tool.on_invoke("sum.requested", response_schema=promised if kind == "handler" else None)(
        lambda request, context: request.data
    )

    @worker.on_task("sum.requested")
    async def work(task: TaskContext, context: PlatformContext) -> None:
        await task.complete(task.data)

    await platform.start(worker if kind == "worker" else tool)
    good: Any = await platform.request("sum.requested", {"total": 4}, timeout=5)
    bad: Any = await platform.request("sum.requested", {"sum": 4}, timeout=5)
    assert (good["success"], bad["success"]) == (True, False)
    assert "total" in bad["error"]["message"]
