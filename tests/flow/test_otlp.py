"""Spans over OTLP: the program of `docs/observability.md` sends them to a collector on loopback."""

import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from kit import open_platform, order, planner, stock
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from otlp_collector import collecting
from reading import blocks
from spans import attributes_of

from soorma_ai.features.otel import names
from soorma_ai.features.otel.handlings import MOST_CONTENT
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete

PAGE = Path(__file__).parents[2] / "docs" / "observability.md"
PLAN = """
import asyncio
from datetime import timedelta
from soorma_ai import Approval, ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

SCHEMA = {"type": "object", "properties": {"amount": {"type": "number"}}}

async def main():
    tool = Tool("payments")

    gate = Approval(approvers=(), timeout=timedelta(days=9))

    @tool.on_invoke("charge.requested", payload_schema=SCHEMA, approval=gate)
    async def charge(request: InvocationContext, context: PlatformContext):
        return {"charged": 1}

    script = [publish("charge.requested", amount=1), complete({"ok": True})]
    async with Platform("sqlite://") as platform:
        mind = ScriptedReasoner(script)
        await platform.start(ChoreographyPlanner("orders", goals=["order.received"], reasoner=mind), tool)
        plan = await platform.submit("order.received", {})
        question = await plan.next_wait()
        await platform.answer(question.wait_id, {"approved": True}, decision="approve")
        await plan.result(timeout=60)
        print(plan.plan_id)

asyncio.run(main())
provider.shutdown()
"""


def test_the_program_of_the_page_sends_the_spans_of_a_plan_to_a_collector(tmp_path: Path) -> None:
    setup = next(one.text for one in blocks(PAGE) if one.language == "python")
    with collecting() as collector:
        settings = {"SOORMA_OTEL": "on", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        command = [sys.executable, "-c", setup + PLAN]
        ran = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **settings}
        )
    assert ran.returncode == 0, ran.stderr
    plan_id = ran.stdout.strip()
    assert (collector.paths, collector.services) == ({"/v1/traces"}, {"orders"})
    assert {attributes_of(span)[names.PLAN] for span in collector.spans} == {plan_id}
    kinds = Counter(span.name.split(" ")[0] for span in collector.spans)
    assert kinds == {"process": 4, "chat": 2, "invoke_agent": 1}
    ids = {span.span_id for span in collector.spans}
    assert all(span.parent_span_id in ids for span in collector.spans if span.parent_span_id)
    (answered,) = [span for span in collector.spans if span.name == "process plan.wait.answered"]
    assert [link.span_id in ids for link in answered.links] == [True]


@pytest.mark.parametrize("words", ["\ud800", "a\0b", "é" * 9_000])
async def test_no_answer_of_a_model_keeps_spans_of_others_from_the_collector(
    words: str, path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOORMA_OTEL", "content")
    with collecting() as collector:
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
        async with open_platform(path, clock) as platform:
            await (await order(platform, planner([words, complete({"said": "x"})]), stock(), order_id="A1")).result(
                timeout=30
            )
        provider.shutdown()
    chats = [span for span in collector.spans if span.name == "chat scripted"]
    assert [len(attributes_of(span)[names.GEN_AI_OUTPUT]) <= MOST_CONTENT for span in chats] == [True, True]


async def test_a_collector_that_never_answers_delays_no_plan(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOORMA_OTEL", "on")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        exporter = OTLPSpanExporter(f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces", timeout=1)
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1))
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
        async with open_platform(path, clock) as platform:
            plan = await order(platform, planner([complete({"ok": 1})]), stock(), order_id="A1")
            assert await plan.result(timeout=30) == {"ok": 1}
    provider.shutdown()
