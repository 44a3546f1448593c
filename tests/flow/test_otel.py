"""Traces by OpenTelemetry: a span for a handled delivery, written after its commit. A wait is a link, and no parent."""

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import as_time_passes, events, is_idle, open_platform, order, payments, planner, stock, the_wait, until
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from spans import Collector

from soorma_ai import Approval, Platform, PlatformContext, ResultContext, TaskContext, Worker
from soorma_ai.errors import ConfigError, VersionConflict
from soorma_ai.features.otel import names
from soorma_ai.features.otel.trace_context import derived_span_id, read_traceparent
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=12_000)
SECRET = "4111-1111"
RESERVED, CLEAR, CHARGED = "inventory.reserve.requested", "clear.requested", "payment.charge.requested"
DETAILS = {RESERVED: {"order_id": "A1"}, CLEAR: {}, CHARGED: {"amount": 12_000}}
CLIENTS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Collector:
    return collect(monkeypatch, Collector())


def collect(monkeypatch: pytest.MonkeyPatch, collector: Collector, mode: str = "on") -> Collector:
    monkeypatch.setenv("SOORMA_OTEL", mode)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: collector.provider)
    return collector


def one(spans: list[ReadableSpan], name: str) -> ReadableSpan:
    found = [span for span in spans if span.name == name]
    assert len(found) == 1, [span.name for span in spans]
    return found[0]


def parent_of(collector: Collector, span: ReadableSpan) -> str | None:
    found = (one.name for one in collector.spans if span.parent and place_of(one.context) == place_of(span.parent))
    return next(found, None)


def place_of(context: trace.SpanContext) -> tuple[int, int]:
    return context.trace_id, context.span_id


def test_a_process_without_the_setting_loads_neither_the_feature_nor_opentelemetry(tmp_path: Path) -> None:
    program = """
import asyncio, json, sys
from soorma_ai import Platform, Tool
async def main():
    async with Platform("sqlite://") as platform:
        tool = Tool("echo")
        @tool.on_invoke("echo.requested")
        async def echo(request, context): return dict(request.data)
        await platform.start(tool)
        await platform.request("echo.requested", {"a": 1}, timeout=30)
    print(json.dumps([name for name in sys.modules if "opentelemetry" in name or ".otel" in name]))
asyncio.run(main())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(ran.stdout) == []


async def test_each_delivery_and_each_call_of_a_model_is_a_span_under_the_span_of_its_cause(
    collector: Collector, path: Path, clock: VirtualClock
) -> None:
    async with open_platform(path, clock) as platform:
        plan = await order(platform, planner([RESERVE, complete({"ok": 1})]), stock(), order_id="A1")
        await plan.result(timeout=5)
        await until(platform, lambda: is_idle(platform))
    spans = collector.of_kind("process")
    goal = one(spans, "process order.received")
    asked = one(spans, "process inventory.reserve.requested")
    answered = one(spans, "process inventory.reserve.requested.completed")
    assert [parent_of(collector, span) for span in (goal, asked, answered)] == [None, goal.name, asked.name]
    assert {parent_of(collector, chat) for chat in collector.of_kind("chat")} == {goal.name, answered.name}
    assert (collector.without_parent(), collector.open.count) == ([], 0)
    assert {(span.attributes or {})[names.PLAN] for span in collector.spans} == {plan.plan_id}


async def test_ids_derive_from_event_agent_and_claim(collector: Collector, path: Path, clock: VirtualClock) -> None:
    async with open_platform(path, clock) as platform:
        await (await order(platform, planner([RESERVE, complete({})]), stock(), order_id="A1")).result(timeout=5)
    for span in collector.of_kind("process"):
        told = span.attributes or {}
        agent, claim = str(told[names.CONSUMER_GROUP]), str(told[names.CLAIM])
        assert span.context.span_id == derived_span_id(str(told[names.MESSAGE_ID]), agent, "0", claim)


async def test_the_end_of_a_wait_is_the_root_of_a_new_trace_linked_to_the_asking_span(
    collector: Collector, path: Path, clock: VirtualClock
) -> None:
    gated = payments(Approval(approvers=(), timeout=timedelta(days=9)))
    async with open_platform(path, clock) as platform:
        plan = await order(platform, planner([CHARGE, complete({"paid": 1})]), gated, order_id="A1")
        question = await the_wait(platform)
        begun = clock.now()
        await clock.advance(86_400 * 2)
        await platform.answer(question.wait_id, {"approved": True}, decision="approve")
        await plan.result(timeout=5)
    asking = one(collector.of_kind("process"), "process order.received")
    woken = [
        span
        for span in collector.of_kind("process")
        if [place_of(link.context) for link in span.links] == [place_of(asking.context)]
    ]
    assert len(woken) == 1 and woken[0].parent is None
    assert woken[0].context.trace_id != asking.context.trace_id
    assert {(span.attributes or {}).get(names.QUESTION) for span in (asking, *woken)} == {question.wait_id}
    summary = collector.of_kind("invoke_agent")
    assert len(summary) == 1 and summary[0].start_time and summary[0].end_time
    assert summary[0].end_time - summary[0].start_time >= 86_400 * 2 * 10**9
    assert summary[0].start_time <= begun.timestamp() * 1e9
    assert (collector.without_parent(), collector.open.count) == ([], 0)


async def test_a_wait_past_its_deadline_is_linked_too(collector: Collector, path: Path, clock: VirtualClock) -> None:
    gated = payments(Approval(approvers=(), timeout=timedelta(minutes=9)))
    async with open_platform(path, clock) as platform:
        plan = await order(platform, planner([CHARGE, complete({})]), gated, order_id="A1")
        question = await the_wait(platform)
        await as_time_passes(clock, lambda: ended(platform, plan.plan_id), 60)
    answered = [one for one in collector.of_kind("process") if (one.attributes or {}).get(names.QUESTION)]
    assert [len(one.links) for one in answered] == [0, 1] and {one.parent for one in answered} == {None}
    assert {(one.attributes or {})[names.QUESTION] for one in answered} == {question.wait_id}


async def ended(platform: Platform, plan_id: str) -> bool:
    return (await platform.plan(plan_id)).status.is_final


def asking_worker(asked: str) -> Worker:
    """Return a worker with one sub-task, this request."""
    worker = Worker("clerk")

    @worker.on_task("bill.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(asked, DETAILS[asked], f"{asked}.answered")

    @worker.on_result(f"{asked}.answered")
    async def end(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete({"ok": result.success})

    return worker


def asking_worker_of_people() -> Worker:
    """Return a worker with a question to a person."""
    worker = Worker("lawyer")

    @worker.on_task("clear.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        question = {"question": "Clear?", "response_event": "clear.answered", "timeout_seconds": 60}
        await context.bus.publish("notification-events", "notification.human_input", question)

    @worker.on_result("clear.answered")
    async def end(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete({"clear": True})

    return worker


async def test_the_reply_to_a_worker_after_a_wait_of_the_asked_agent_is_linked_to_the_asking_span(
    collector: Collector, path: Path, clock: VirtualClock
) -> None:
    async with open_platform(path, clock) as platform:
        await platform.start(asking_worker("clear.requested"), asking_worker_of_people())
        request = asyncio.create_task(platform.request("bill.requested", {}, timeout=9_000))
        question = await the_wait(platform)
        await platform.answer(question.wait_id, {"clear": True})
        await request
    asking, answered = (
        one(collector.spans, "process bill.requested"),
        one(collector.spans, "process plan.wait.answered"),
    )
    woken = one(collector.spans, "process clear.requested.answered")
    asking_people = one(collector.spans, "process clear.requested")
    assert (answered.parent, parent_of(collector, woken)) == (None, answered.name)
    assert [place_of(link.context) for link in answered.links] == [place_of(asking_people.context)]
    assert [place_of(link.context) for link in woken.links] == [place_of(asking.context)]
    assert (collector.without_parent(), collector.open.count) == ([], 0)


async def test_a_held_request_of_a_worker_is_linked_to_the_asking_span(
    collector: Collector, path: Path, clock: VirtualClock
) -> None:
    async with open_platform(path, clock) as platform:
        await platform.start(asking_worker(CHARGED), payments(Approval(approvers=(), timeout=timedelta(days=9))))
        request = asyncio.create_task(platform.request("bill.requested", {}, timeout=9_000))
        question = await the_wait(platform)
        await platform.answer(question.wait_id, {"approved": True}, decision="approve")
        await request
    asking, released = one(collector.spans, "process bill.requested"), one(collector.spans, f"process {CHARGED}")
    woken = one(collector.spans, f"process {CHARGED}.answered")
    assert (released.parent, parent_of(collector, woken)) == (None, released.name)
    assert [[place_of(link.context) for link in span.links] for span in (released, woken)] == [
        [place_of(asking.context)]
    ] * 2
    assert (collector.without_parent(), collector.open.count) == ([], 0)


async def test_the_reply_to_a_worker_in_the_same_trace_has_no_link(
    collector: Collector, path: Path, clock: VirtualClock
) -> None:
    async with open_platform(path, clock) as platform:
        await platform.start(asking_worker("inventory.reserve.requested"), stock())
        await platform.request("bill.requested", {}, timeout=60)
    woken = one(collector.spans, "process inventory.reserve.requested.answered")
    assert (parent_of(collector, woken), woken.links) == ("process inventory.reserve.requested", ())


async def test_nothing_of_a_rolled_back_handling_is_told(
    collector: Collector, path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_platform(path, clock) as platform:
        queue, told = platform.services.store.queue, list[int]()
        commit = queue.commit

        async def conflict_first(work: Any, now: Any) -> None:
            told.append(len(collector.spans))
            if len(told) == 1:
                raise VersionConflict("another was first")
            await commit(work, now)

        monkeypatch.setattr(queue, "commit", conflict_first)
        plan = await order(platform, planner([complete({})]), stock(), order_id="A1")
        await as_time_passes(clock, lambda: ended(platform, plan.plan_id))
    assert told[:2] == [0, 0]
    outcomes = [(one.attributes or {})[names.OUTCOME] for one in collector.of_kind("process")]
    assert (outcomes, collector.open.count, collector.without_parent()) == (["again", "done"], 0, [])


@pytest.mark.parametrize("mode", ["on", "content"])
async def test_payloads_and_answers_are_in_spans_by_the_switch_alone(
    mode: str, path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = collect(monkeypatch, Collector(), mode)
    async with open_platform(path, clock) as platform:
        said = planner([RESERVE, publish("payment.charge.requested", amount=SECRET), complete({"card": SECRET})])
        await order(platform, said, stock(), payments(), order_id=SECRET)
        await until(platform, lambda: is_idle(platform))
    assert collector.spans
    assert (SECRET in "".join(span.to_json() for span in collector.spans)) == (mode == "content")


async def test_a_clients_traceparent_is_a_link_and_never_a_parent(
    collector: Collector, path: Path, clock: VirtualClock
) -> None:
    async with open_platform(path, clock) as platform:
        await platform.start(planner([complete({}), complete({})]), stock())
        plan = await platform.submit("order.received", {})
        await plan.result(timeout=5)
        goal = next(event for event in await events(platform) if event.type == "order.received")
        await take_in(platform, goal.model_copy(update={"id": "hostile", "traceparent": CLIENTS}))
        await until(platform, lambda: is_idle(platform))
    span = next(span for span in collector.of_event("hostile"))
    given = read_traceparent(CLIENTS)
    assert given and span.parent is None and span.context.trace_id != given.trace_id
    assert [link.context.trace_id for link in span.links] == [given.trace_id]


async def take_in(platform: Platform, event: Any) -> None:
    from soorma_ai.kernel.runtime.client.intake import take_in as arrive

    await arrive(platform.services, event)


@pytest.mark.parametrize(
    "text",
    [None, "", "x" * 100_000, CLIENTS.upper(), CLIENTS + "\n", "00-" + "0" * 32 + CLIENTS[35:], "ff" + CLIENTS[2:]],
)
def test_a_malformed_traceparent_is_no_context(text: str | None) -> None:
    assert read_traceparent(text) is None


async def test_one_decision_of_the_sampler_counts_for_a_whole_trace(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = collect(monkeypatch, Collector(ParentBased(TraceIdRatioBased(0.5))))
    async with open_platform(path, clock) as platform:
        minds = planner([RESERVE, complete({})] * 12)
        await platform.start(minds, stock())
        for _ in range(12):
            await (await platform.submit("order.received", {"order_id": "A1"})).result(timeout=5)
    roots = [span for span in collector.of_kind("process") if span.parent is None]
    assert 0 < len(roots) < 12
    assert len(collector.of_kind("process")) == 3 * len(roots)
    assert (collector.without_parent(), collector.open.count) == ([], 0)


async def test_platforms_of_one_process_share_a_provider(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = FickleSampler()
    collector = collect(monkeypatch, Collector(sampler))
    async with open_platform(path, clock) as first, open_platform(path.with_name("second.db"), clock) as second:
        for platform in (first, second, first, second):
            if platform.services.signals.tallies.of_all() == {}:
                await platform.start(planner([RESERVE, complete({})] * 2), stock())
            await (await platform.submit("order.received", {"order_id": "A1"})).result(timeout=5)
    assert (sampler.asked, len(collector.of_kind("process"))) == (4, 2 * 3)
    assert (collector.without_parent(), collector.open.count) == ([], 0)


class FickleSampler(Sampler):
    """Sampler that changes its mind at each question."""

    def __init__(self) -> None:
        self.asked = 0

    def should_sample(self, *given: Any, **named: Any) -> SamplingResult:
        self.asked += 1
        return (ALWAYS_ON if self.asked % 2 else ALWAYS_OFF).should_sample(*given, **named)

    def get_description(self) -> str:
        return "fickle"


async def test_a_sampler_is_asked_once_for_a_trace(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = FickleSampler()
    collector = collect(monkeypatch, Collector(sampler))
    async with open_platform(path, clock) as platform:
        await platform.start(planner([RESERVE, complete({})] * 4), stock())
        for _ in range(4):
            await (await platform.submit("order.received", {"order_id": "A1"})).result(timeout=5)
    assert (sampler.asked, len(collector.of_kind("process"))) == (4, 2 * 3)
    assert (collector.without_parent(), collector.open.count) == ([], 0)


class StuckExporter(SpanExporter):
    """Exporter that never answers, until its release."""

    def __init__(self) -> None:
        from threading import Event

        self.release = Event()

    def export(self, spans: Any) -> SpanExportResult:
        self.release.wait(60)
        return SpanExportResult.SUCCESS


async def test_an_exporter_that_hangs_delays_no_commit(collector: Collector, path: Path, clock: VirtualClock) -> None:
    stuck = StuckExporter()
    collector.provider.add_span_processor(
        BatchSpanProcessor(stuck, max_queue_size=4, max_export_batch_size=1, schedule_delay_millis=1)
    )
    try:
        async with open_platform(path, clock) as platform:
            await platform.start(planner([RESERVE, complete({})] * 9), stock())
            for _ in range(9):
                await (await platform.submit("order.received", {"order_id": "A1"})).result(timeout=5)
    finally:
        stuck.release.set()
        collector.provider.shutdown()


async def test_a_processor_that_raises_changes_nothing(collector: Collector, path: Path, clock: VirtualClock) -> None:
    class Broken(BatchSpanProcessor):
        def __init__(self) -> None: ...

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            raise RuntimeError("broken")

        def shutdown(self) -> None: ...

    collector.provider.add_span_processor(Broken())
    async with open_platform(path, clock) as platform:
        plan = await order(platform, planner([complete({"ok": 1})]), stock(), order_id="A1")
        assert await plan.result(timeout=5) == {"ok": 1}


async def test_metrics_have_the_names_and_counts_of_the_page(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setenv("SOORMA_OTEL", "on")
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)
    async with open_platform(path, clock) as platform:
        await (await order(platform, planner([complete({})]), stock(), order_id="A1")).result(timeout=5)
        data = reader.get_metrics_data()
        assert data is not None
        found = {
            metric.name: [(dict(point.attributes or {}), point.value) for point in metric.data.data_points]
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }
    assert found["soorma_commits"] == [({"outcome": "done"}, 1)]
    assert found["soorma_model_calls"] == [({}, 1)]
    provider.shutdown()


def test_a_misspelt_mode_is_refused_with_the_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOORMA_OTEL", "yes")
    with pytest.raises(ConfigError, match="give 'on', 'content' or 'off'"):
        Platform("sqlite://")
