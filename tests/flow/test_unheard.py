"""Events without a receiver are logged with their cure; and definitions of consumed events."""

import asyncio
from typing import Any

import pytest
from kit import PATIENCE, order, planner, pursue, the_wait, until, wait_for_requests
from machines import GOAL, research, researcher

from soorma_ai import (
    Agent,
    EventDefinition,
    EventEnvelope,
    InvocationContext,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import ConfigError
from soorma_ai.testing.scripted import complete, publish

SIGN = {"question": "sign?", "response_event": "was.signed", "timeout_seconds": 3600}


def clerk() -> Worker:
    worker = Worker("clerk")

    @worker.on_task("sign.requested")
    async def ask(task: TaskContext, context: PlatformContext) -> None:
        await context.bus.publish("notification-events", "notification.human_input", SIGN)

    @worker.on_result("was.signed")
    async def sign(result: ResultContext, context: PlatformContext) -> None:
        await result.task.complete({"signed": True})

    return worker


def desk(**options: Any) -> Agent:
    agent = Agent("desk", **options)

    @agent.on_event("notification.human_input", topic="notification-events")
    async def answer(event: EventEnvelope, context: PlatformContext) -> None:
        await context.bus.publish(
            "notification-events", "was.signed", {"ok": True}, correlation_id=event.data["task_id"]
        )

    return agent


async def test_an_answer_undeclared_by_its_agent_is_logged_with_its_cure(
    platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    await order(platform, planner([publish("sign.requested"), complete({})]), clerk(), desk())
    question = await the_wait(platform)
    await until(platform, lambda: "event_not_taken" in caplog.text)
    (line,) = [one for one in caplog.records if "event_not_taken" in one.message]
    assert line.levelname == "WARNING"
    assert f"question={question.wait_id}" in line.message
    assert "agent desk answers by was.signed and does not declare it: add it to its events_produced" in line.message


async def test_an_answer_declared_by_its_agent_counts(platform: Platform, caplog: pytest.LogCaptureFixture) -> None:
    made = EventDefinition(event_name="was.signed", topic="notification-events")
    agents = clerk(), desk(events_produced=[made])
    plan = await order(platform, planner([publish("sign.requested"), complete({"ok": 1})]), *agents)
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
    assert "undeclared" not in caplog.text


@pytest.mark.parametrize("who", ["a client", "an agent"])
async def test_an_event_under_the_id_of_a_plan_waiting_for_a_reply_is_logged(
    platform: Platform, caplog: pytest.LogCaptureFixture, who: str
) -> None:
    going = asyncio.Event()
    web, nudge = Tool("web"), Agent("nudge")

    @web.on_invoke("web.search.requested")
    async def search(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await going.wait()
        return {"status": "found"}

    @nudge.on_event("nudged", topic="business-facts")
    async def pass_on(event: EventEnvelope, context: PlatformContext) -> None:
        await context.bus.publish("business-facts", "web.search.completed", {}, correlation_id=event.data["plan_id"])

    plan = await pursue(platform, GOAL, {"topic": "owls"}, researcher(research()), web, nudge)
    await wait_for_requests(platform, "web.search.requested")
    if who == "a client":
        await platform.publish("business-facts", "web.search.completed", {}, plan_id=plan.plan_id)
    else:
        await platform.publish("business-facts", "nudged", {"plan_id": plan.plan_id})
    await until(platform, lambda: "event_not_taken" in caplog.text)
    (line,) = [one.message for one in caplog.records if "reason=busy" in one.message]
    assert "web.search.completed under the id of a plan, and the plan waits for the reply to" in line
    going.set()


NUMBER: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
COUNTED = EventDefinition(event_name="count.requested", description="Counts on.", payload_schema=NUMBER, version="7")


@pytest.mark.parametrize("consumed", [[COUNTED], []], ids=["events_consumed", "decorator"])
@pytest.mark.parametrize("kind", [Tool, Worker])
def test_a_definition_gives_its_words_and_its_shape_to_the_handler(kind: Any, consumed: list[EventDefinition]) -> None:
    agent = kind("counter", events_consumed=consumed)
    decorate = agent.on_invoke if kind is Tool else agent.on_task

    @decorate(COUNTED.event_name if consumed else COUNTED)
    async def count(given: Any, context: Any) -> None: ...

    ((_, definition),) = agent.registration().events
    assert definition == COUNTED


@pytest.mark.parametrize("as_name", [True, False])
def test_a_listener_takes_a_definition_with_its_topic(as_name: bool) -> None:
    placed = EventDefinition(event_name="order.placed", topic="business-facts", description="A customer ordered.")
    ear = Agent("ear", events_consumed=[placed])
    given: Any = ("order.placed", "business-facts") if as_name else (placed,)
    ear.on_event(*given)(lambda event, context: None)
    assert [definition for _, definition in ear.registration().events] == [placed]


def test_a_definition_of_another_topic_is_refused() -> None:
    fact = EventDefinition(event_name="order.placed", topic="business-facts")
    with pytest.raises(ConfigError, match=r"on_invoke takes events on action-requests, .* defined on business-facts"):
        Tool("till").on_invoke(fact)
    with pytest.raises(ConfigError, match=r"on_event takes events on plan-events"):
        Agent("ear").on_event(fact, "plan-events")  # type: ignore[call-overload]


async def test_data_off_a_definition_given_as_consumed_is_refused(platform: Platform) -> None:
    tool = Tool("counter", events_consumed=[COUNTED])

    @tool.on_invoke("count.requested")
    async def count(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"n": request.data["n"] + 1}

    await platform.start(tool)
    assert (await platform.request("count.requested", {"n": 1}, timeout=PATIENCE))["result"] == {"n": 2}
    with pytest.raises(Exception, match="off its schema"):
        await platform.request("count.requested", {"n": "x"}, timeout=PATIENCE)
