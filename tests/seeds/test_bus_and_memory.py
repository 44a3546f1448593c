"""Samples of plain agents: events in and out, their envelope, and progress reports."""

from typing import Any

import pytest
from kit import PATIENCE, planner, until

from seeds.acting import act, sent_events
from soorma_ai import (
    Agent,
    ConfigError,
    EventContext,
    EventEnvelope,
    InvocationContext,
    Platform,
    PlatformContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.testing.scripted import complete, publish


async def test_an_agent_receives_a_fact_and_publishes_a_request(platform: Platform) -> None:
    agent = Agent(name="my-agent", capabilities=["ordering"])

    @agent.on_event(topic="business-facts", event_type="order.placed")
    async def handle_order(event: EventContext, context: PlatformContext):
        await context.bus.publish(
            topic="action-requests", event_type="inventory.check", data={"order_id": event.data["order_id"]}
        )

    await platform.start(agent)
    await platform.publish("business-facts", "order.placed", {"order_id": "A1"})
    (asked,) = await sent_events(platform, "inventory.check")
    assert (asked.topic, asked.source, asked.data) == ("action-requests", "my-agent", {"order_id": "A1"})


async def test_a_handler_gets_only_events_of_its_topic_and_type(platform: Platform) -> None:
    agent = Agent("listener")
    heard: list[str] = []

    @agent.on_event(topic="action-requests", event_type="calculate.requested")
    async def handle(event, context):
        heard.append(event.type)

    @agent.on_event(topic="action-requests", event_type="last.requested")
    async def last(event: Any, context: PlatformContext) -> None:
        await context.bus.announce("last.heard", {})

    await platform.start(agent)
    for event_type in ("calculate.requested", "last.requested"):
        await platform.publish("action-requests", event_type, {})
        await platform.publish("business-facts", event_type, {})
    await sent_events(platform, "last.heard")
    await until(platform, lambda: bool(heard))
    assert heard == ["calculate.requested"]


async def test_a_handler_names_its_topic(platform: Platform) -> None:
    agent = Agent("listener")
    heard: list[str] = []

    @agent.on_event(topic="action-requests", event_type="data.requested")
    async def handler(event, context):
        heard.append(event.topic)

    @agent.on_event("data.requested", topic="business-facts")
    async def handler(event, context):  # noqa: F811
        heard.append(event.topic)

    with pytest.raises(ConfigError, match="give its topic, too"):
        agent.on_event("data.requested")  # type: ignore[call-arg]
    await platform.start(agent)
    await platform.publish("action-requests", "data.requested", {})
    await platform.publish("business-facts", "data.requested", {})
    await until(platform, lambda: len(heard) == 2)
    assert sorted(heard) == ["action-requests", "business-facts"]


async def test_a_handler_of_a_fact_names_its_topic(platform: Platform) -> None:
    agent = Agent("listener")
    heard: list[Any] = []

    @agent.on_event(topic="business-facts", event_type="order.created")
    async def created(event, context):
        heard.append(event.data)

    await platform.start(agent)
    await platform.publish("business-facts", "order.created", {"order_id": "1"})
    await until(platform, lambda: bool(heard))
    assert heard == [{"order_id": "1"}]


async def test_a_request_a_response_and_an_announcement_have_their_topics(platform: Platform) -> None:
    tool = Tool("hands")

    @tool.on_invoke("work.requested")
    async def work(request: InvocationContext, context: PlatformContext) -> None:
        await context.bus.request(
            event_type="research.requested", data={"topic": "AI trends"}, response_event="research.completed"
        )

        await context.bus.respond(
            event_type="research.completed", data={"findings": ["a page"]}, correlation_id=request.correlation_id
        )

        await context.bus.announce(event_type="order.placed", data={"order_id": "123"})

    await platform.start(tool)
    await platform.request("work.requested", {}, timeout=PATIENCE)
    events = {event.type: event for event in await sent_events(platform, "research.requested", "order.placed")}
    asked = events["research.requested"]
    assert (asked.topic, asked.response_event, asked.response_topic) == (
        "action-requests",
        "research.completed",
        "action-results",
    )
    assert asked.correlation_id == asked.id
    (answer,) = await sent_events(platform, "research.completed")
    (request,) = await sent_events(platform, "work.requested")
    assert (answer.topic, answer.correlation_id) == ("action-results", request.correlation_id)
    fact = events["order.placed"]
    assert (fact.topic, fact.response_event, fact.data) == ("business-facts", None, {"order_id": "123"})


async def test_a_fact_is_published_on_its_topic_or_announced(platform: Platform) -> None:
    async def tell(context: PlatformContext) -> None:
        await context.bus.publish(topic="business-facts", event_type="order.created", data={"order_id": "1"})
        await context.bus.announce("order.created", data={"order_id": "2"})
        with pytest.raises(TypeError, match="data"):
            await context.bus.publish("order.created", {"order_id": "3"})  # type: ignore[call-arg]

    await act(platform, tell)
    told = await sent_events(platform, "order.created")
    assert [(event.topic, event.data) for event in told] == [
        ("business-facts", {"order_id": "1"}),
        ("business-facts", {"order_id": "2"}),
    ]


async def test_a_request_names_its_response_event_and_topic(platform: Platform) -> None:
    async def ask(context: PlatformContext) -> None:
        await context.bus.publish(
            "action-requests",
            "research.requested",
            {"topic": "owls"},
            correlation_id="corr_456",
            response_event="research.completed",
        )

    await act(platform, ask)
    (asked,) = await sent_events(platform, "research.requested")
    envelope = {
        "id": asked.id,
        "type": "research.requested",
        "topic": "action-requests",
        "data": {"topic": "owls"},
        "correlation_id": "corr_456",
        "response_event": "research.completed",
        "response_topic": "action-results",
    }
    assert {name: getattr(asked, name) for name in envelope} == envelope
    made = EventEnvelope(source="research", time=asked.time, **envelope)
    assert {name: getattr(EventEnvelope.from_json(made.to_json()), name) for name in envelope} == envelope


async def test_a_worker_reports_its_progress_with_an_event(platform: Platform) -> None:
    worker = Worker("hands")

    @worker.on_task("work.requested")
    async def work(task: TaskContext, context: PlatformContext) -> None:
        await context.bus.publish(
            topic="system-events",
            event_type="task.progress",
            data={"plan_id": task.plan_id, "task_id": task.task_id, "status": "running", "progress": 0.5},
        )
        await task.complete("done")

    await platform.start(worker, planner([publish("work.requested"), complete()]))
    plan = await platform.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    progress = await platform.tracker.plan_progress(plan.plan_id)
    assert [report.progress for report in progress.reports.values()] == [0.5]
