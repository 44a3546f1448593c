"""Samples of tools."""

from typing import Any, Dict

import pytest
from kit import PATIENCE, planner, stock

from seeds.acting import act, sent_events
from soorma_ai import (
    AgentCapability,
    EventDefinition,
    InvocationContext,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import LocalProtocolError
from soorma_ai.testing.scripted import complete, publish


def request_in_handler(response_event: str, event_type: str, data: dict[str, Any]) -> Any:
    """Return code of a handler that publishes a request."""

    async def ask(context: PlatformContext) -> str:
        return await context.bus.request(event_type=event_type, data=data, response_event=response_event)

    return ask


async def test_a_declared_calculator_calculates(platform: Platform) -> None:
    CALCULATOR_CAPABILITY = AgentCapability(
        task_name="calculate",
        description="Performs mathematical calculations",
        consumed_event=EventDefinition(
            event_name="calculate.requested",
            topic="action-requests",
            description="Request a calculation",
            payload_schema={
                "type": "object",
                "properties": {"expression": {"type": "string", "description": "Math expression"}},
                "required": ["expression"],
            },
        ),
        produced_events=[
            EventDefinition(
                event_name="calculate.completed",
                topic="action-results",
                description="Calculation result",
                payload_schema={
                    "type": "object",
                    "properties": {"result": {"type": "number"}, "expression": {"type": "string"}},
                    "required": ["result"],
                },
            )
        ],
    )

    tool = Tool(name="calculator", capabilities=[CALCULATOR_CAPABILITY])

    @tool.on_invoke(event_type="calculate.requested")
    async def handle_calculate(request: InvocationContext, context: PlatformContext):
        expr = request.data["expression"]
        result = eval(expr)
        return {"result": result, "expression": expr}

    worker = Worker("pupil")
    found: list[EventDefinition | None] = []

    @worker.on_task(event_type="math.problem")
    async def handle_math(task: TaskContext, context: PlatformContext):
        calc = await context.registry.find("calculate")

        request_schema = calc.get_consumed_event_schema("calculate")
        response_schema = calc.get_produced_event_schema("calculate")
        found[:] = [request_schema, response_schema]

        await task.delegate(
            event_type=request_schema.event_name, data={"expression": "2 + 2"}, response_event="my.calc.done"
        )

    @worker.on_result(event_type="my.calc.done")
    async def handle_calc_result(result: ResultContext, context: PlatformContext):
        calc_result = result.data["result"]
        await (await result.restore_task()).complete(calc_result)

    await platform.start(tool, worker)
    reply: Any = await platform.request("math.problem", {}, timeout=PATIENCE)
    assert reply["result"] == {"result": 4, "expression": "2 + 2"}
    assert found == [CALCULATOR_CAPABILITY.consumed_event, *CALCULATOR_CAPABILITY.produced_events]
    with pytest.raises(LocalProtocolError, match=r"\$\.expression"):
        await platform.request("calculate.requested", {"expression": 4})


async def test_a_tool_with_a_named_capability_replies_with_the_callers_response_event(platform: Platform) -> None:
    tool = Tool(name="calculator", capabilities=["math"])

    @tool.on_invoke(event_type="calculate.requested")
    async def calculate(request: InvocationContext, context: PlatformContext):
        expr = request.data["expression"]
        result = eval(expr)
        return {"result": result}

    await platform.start(tool)
    await act(platform, request_in_handler("sum.known", "calculate.requested", {"expression": "6 * 7"}))
    (answer,) = await sent_events(platform, "sum.known")
    assert (answer.topic, answer.data["result"]) == ("action-results", {"result": 42})
    assert [one.name for one in await platform.registry.discover(["math"])] == ["calculator"]


async def test_a_tool_of_layer_2_returns_its_result(platform: Platform) -> None:
    def compute(expression: str) -> int:
        return sum(map(int, expression.split("+")))

    tool = Tool(name="calculator", capabilities=["calculate"])

    @tool.on_invoke(event_type="calculate.requested")
    async def calculate(request: InvocationContext, context: PlatformContext) -> Dict:
        result = compute(request.data["expression"])
        return {"result": result}

    await platform.start(tool)
    await act(platform, request_in_handler("sum.known", "calculate.requested", {"expression": "20 + 22"}))
    (answer,) = await sent_events(platform, "sum.known")
    assert answer.data["result"] == {"result": 42}


async def test_tool_on_invoke_publishes_result(platform: Platform) -> None:
    tool = Tool("echo")

    @tool.on_invoke(event_type="echo.requested")
    async def handler(request, ctx):
        return {"echoed": request.data["message"]}

    await platform.start(tool)
    key = await act(platform, request_in_handler("echo.heard", "echo.requested", {"message": "hello"}))
    (answer,) = await sent_events(platform, "echo.heard")
    assert (answer.data["success"], answer.data["result"]) == (True, {"echoed": "hello"})
    assert answer.data["request_id"] == answer.correlation_id == key


async def test_tool_on_invoke_handles_error(platform: Platform) -> None:
    tool = Tool("fragile")

    @tool.on_invoke(event_type="fail.requested")
    async def handler(request, ctx):
        raise ValueError("Something went wrong")

    await platform.start(tool)
    key = await act(platform, request_in_handler("fail.known", "fail.requested", {}))
    (answer,) = await sent_events(platform, "fail.known")
    assert (answer.data["success"], answer.data["error"]["code"]) == (False, "handler_error")
    assert "Something went wrong" in answer.data["error"]["message"]
    assert answer.data["request_id"] == answer.correlation_id == key


async def test_tool_uses_caller_response_event(platform: Platform) -> None:
    tool = Tool("echo")

    @tool.on_invoke("echo.requested")
    async def echo(request: InvocationContext, ctx: PlatformContext) -> dict[str, Any]:
        return request.data

    async def ask_two(context: PlatformContext) -> None:
        await context.bus.request("echo.requested", {"n": 1}, "first.heard")
        await context.bus.request("echo.requested", {"n": 2}, "second.heard", response_topic="business-facts")

    await platform.start(tool)
    await act(platform, ask_two)
    answers = await sent_events(platform, "first.heard", "second.heard")
    told = sorted((answer.type, answer.topic, answer.data["result"]["n"]) for answer in answers)
    assert told == [("first.heard", "action-results", 1), ("second.heard", "business-facts", 2)]


async def test_invocation_context_from_event(platform: Platform) -> None:
    tool = Tool("echo")
    given: list[Any] = []

    @tool.on_invoke("echo.requested")
    async def echo(request: InvocationContext, ctx: PlatformContext) -> None:
        given.append((request, ctx))

    await platform.start(tool)
    ann = platform.as_user(tenant_id="acme", user_id="ann")
    forged = {"request_id": "r", "correlation_id": "c", "response_event": "e", "tenant_id": "t", "user_id": "u"}
    await ann.request("echo.requested", {"message": "hello", **forged}, timeout=PATIENCE)
    (event,) = await sent_events(platform, "echo.requested")
    request, ctx = given[-1]
    assert (request.request_id, request.event_type, request.data) == (event.id, "echo.requested", event.data)
    assert {name: request.data[name] for name in forged} == forged
    assert (request.correlation_id, request.response_event) == (event.correlation_id, event.response_event)
    assert request.response_topic == "action-results"
    assert (request.tenant_id, request.user_id) == (ctx.tenant_id, ctx.user_id) == ("acme", "ann")


async def test_a_plans_event_stream_shows_each_use_of_a_tool(platform: Platform) -> None:
    script = [publish("inventory.reserve.requested", order_id=order) for order in ("A1", "none-left")]
    await platform.start(planner([*script, complete()]), stock())
    plan = await platform.submit("order.received", {})
    seen = [event async for event in plan.events()]
    uses = [event for event in seen if event.type == "inventory.reserve.requested"]
    ends = [event for event in seen if event.source == "stock"]
    assert [event.data for event in uses] == [{"order_id": "A1"}, {"order_id": "none-left"}]
    assert [event.correlation_id for event in ends] == [event.correlation_id for event in uses]
    assert [event.data.get("result") for event in ends] == [{"reserved": "A1"}, None]
    assert ends[1].data["error"] == {"code": "out_of_stock", "message": "no stock"}
