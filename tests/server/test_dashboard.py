"""The dashboard for Grafana queries only metrics and labels of the server's output, and every metric."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from http_kit import local
from kit import payments, planner, the_wait

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.api.server.metrics import metrics
from soorma_ai.api.server.tenant_stats import TenantStats
from soorma_ai.testing.scripted import publish

DASHBOARD: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "grafana.json").read_text())
# Labels added by Prometheus to each sample.
ADDED = {"job"}


def queries() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def labels_in(query: str) -> Iterator[tuple[str, str]]:
    """Yield each metric of a query with each label named there."""
    grouped = [label for group in re.findall(r"by \(([^)]*)\)", query) for label in re.split(r",\s*", group)]
    for name, selector in re.findall(r"(soorma_\w+)\{([^}]*)\}", query):
        yield from ((name, label) for label in (*grouped, *re.findall(r"(\w+)=", selector)))


def lathe(has_begun: asyncio.Event, may_end: asyncio.Event) -> Tool:
    tool = Tool("lathe")

    @tool.on_invoke("part.turn.requested")
    async def turn(request: InvocationContext, context: PlatformContext) -> None:
        has_begun.set()
        await may_end.wait()

    return tool


async def test_every_metric_and_label_of_the_dashboard_is_in_the_output_of_a_server(platform: Platform) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()
    script = [publish("payment.charge.requested", amount=1)]
    await platform.start(planner(script), payments(approval="always"), lathe(has_begun, may_end))
    await platform.ask("part.turn.requested", {})
    await has_begun.wait()
    await platform.submit("order.received", {"order_id": "A1"})
    await the_wait(platform)
    async with local(platform, roles=["auditor"]) as http:
        await http.get("/v1/plans")
        text = (await http.get("/metrics")).text
    may_end.set()
    given: dict[str, set[str]] = defaultdict(set)
    for name, labels in re.findall(r"^(soorma_\w+)(?:\{(.*)\})? ", text, re.MULTILINE):
        given[name] |= set(re.findall(r'(\w+)="', labels)) | ADDED
    asked = [pair for query in queries() for pair in labels_in(query)]
    assert len(asked) > 20
    assert [(name, label) for name, label in asked if label not in given[name]] == []


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {name for query in queries() for name in re.findall(r"soorma_\w+", query)}
    assert shown == {one.name for one in metrics(TenantStats(), {}, datetime(2030, 1, 1, tzinfo=UTC))}


def test_no_panel_lies_upon_another() -> None:
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [cell for at in places for cell in product(_span(at, "x", "w"), _span(at, "y", "h"))]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)


def _span(place: dict[str, int], start: str, size: str) -> range:
    return range(place[start], place[start] + place[size])
