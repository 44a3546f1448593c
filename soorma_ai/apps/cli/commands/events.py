"""`soorma events`: the log of everything that was ever published."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

import click

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.apps.cli.store_access import look_up, read_only_client, server_client
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Untaken
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.surfaces.ids import find_plan
from soorma_ai.surfaces.options import Access, Id, as_json, with_platform
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BOLD, DIM, Part, Printer, print_json, print_list
from soorma_ai.surfaces.terminal.wording import ago, json_line, short_id, time_left

if TYPE_CHECKING:
    from soorma_ai.clients.asynchronous import AsyncClient

LOOK_AGAIN_SECONDS = 0.3
PAGE = 500
PAYLOAD = 300
LEAST_PAYLOAD = 20
_UNTAKEN = ("REQUEST", "FOR", "ASKED BY", "OF", "SINCE", "UNTIL")


@click.group()
def events() -> None:
    """Look at the events of all plans and agents."""


@events.command()
@click.option("--follow", "-f", is_flag=True, help="Go on with those that come, until the plan ends or Ctrl-C.")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="How many of the past ones.")
@click.option("--plan", type=Id(), help="Only those of this plan's tree.")
@as_json
@with_platform
def tail(access: Access, follow: bool, limit: int, plan: str | None, as_json: bool) -> None:
    """Print the newest events, in the order in which they came. With --json, a CloudEvent per line.

    A server tells the past of a plan; of all the rest, only what comes from now on.
    """

    async def show() -> None:
        printer = Printer()
        async with aclosing(_chosen_events(access, plan, limit, follow=follow)) as events:
            async for event in events:
                if as_json:
                    print_json(event.model_dump(mode="json", by_alias=True, exclude_none=True), indent=None)
                else:
                    print_event(printer, event)

    try:
        asyncio.run(show())
    except KeyboardInterrupt:
        return


@events.command("untaken")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@as_json
@with_platform
def list_untaken(access: Access, limit: int, as_json: bool) -> None:
    """List requests that no agent takes yet, the oldest first."""
    found, now = look_up(access, lambda client: client.tracker.untaken(limit=limit)), SystemClock().now()

    def row(one: Untaken) -> tuple[str, ...]:
        until, names = one.until.isoformat(), map(one_line, (one.event_type, one.asked_by, one.target or ""))
        return (one.request_id, *names, one.plan_id or "", one.task_id or "", until)

    def cells(one: Untaken) -> tuple[Part, ...]:
        owner = (
            f"plan {short_id(one.plan_id)}" if one.plan_id else f"task {short_id(one.task_id)}" if one.task_id else ""
        )
        asked, target = clip(one_line(one.event_type), 40), clip(one_line(one.target or ""), 24)
        return asked, target, clip(one_line(one.asked_by), 24), owner, ago(one.since, now), time_left(one.until, now)

    print_list(found, "nothing waits for an agent that takes it", row, (_UNTAKEN, cells), as_json=as_json)


async def _chosen_events(
    access: Access, plan: str | None, limit: int, *, follow: bool
) -> AsyncGenerator[EventEnvelope]:
    if access.server is None:
        async with read_only_client(access) as client:
            root = (await client.plan(await find_plan(client, plan))).root_plan_id if plan else None
            async for event in events_of_store(client, root, limit, follow=follow):
                yield event
        return
    if plan is None and not follow:
        raise click.UsageError("a server tells no newest events of all: give --plan, or --follow for those that come")
    async with server_client(access.server) as remote:
        if plan is None:
            async for row in remote.events_stream():
                yield row.event
        else:
            async for event in _events_of_server(remote, await find_plan(remote, plan), limit, follow=follow):
                yield event


async def _events_of_server(
    client: "AsyncClient", plan_id: str, limit: int, *, follow: bool
) -> AsyncGenerator[EventEnvelope]:
    past, count, after, is_end = deque[EventEnvelope](maxlen=limit), 0, 0, False
    while not is_end:
        page = await client.events(after=after, limit=PAGE, plan_id=plan_id)
        past += [row.event for row in page.events]
        count, after, is_end = count + len(page.events), page.after, page.is_end
    for event in past:
        yield event
    if follow:
        async for event in (await client.follow(plan_id)).events():
            count -= 1
            if count < 0:
                yield event


async def events_of_store(
    client: Client, root: str | None, limit: int, *, follow: bool
) -> AsyncGenerator[EventEnvelope]:
    """Yield the newest events of the tenant, or of a root plan's tree, and those that come."""
    store, tenant_id = client.services.store, client.person.tenant_id
    past = await store.events.events(tenant_id=tenant_id, root_plan_id=root, limit=max(limit, 1), newest=True)
    for row in past if limit else []:
        yield row.event
    last = past[-1].seq if past else 0
    while follow:
        plan = await store.plans.plan(root) if root else None
        rows = await store.events.events(after=last, tenant_id=tenant_id, root_plan_id=root, limit=PAGE)
        for row in rows:
            last = row.seq
            yield row.event
        if not rows and plan is not None and plan.status.is_final:
            return
        if not rows:
            await client.services.clock.sleep(LOOK_AGAIN_SECONDS)


def print_event(printer: Printer, event: EventEnvelope) -> None:
    """Print one line on a terminal; what does not fit is in --json."""
    when = f"{event.time.astimezone():%H:%M:%S.%f}"[:12]
    plan = f"  plan {short_id(event.plan_id)}" if event.plan_id else ""
    source, type = one_line(event.source), one_line(event.type)
    time_and_topic = f"{when}  {event.topic:<19} "
    left = printer.console.width - len(f"{time_and_topic}{source} {type}{plan}  ")
    data = f"  {json_line(event.data, PAYLOAD if printer.is_plain else max(LEAST_PAYLOAD, left))}" if event.data else ""
    printer.line((time_and_topic, DIM), f"{source} ", (type, BOLD), data, (plan, DIM))
