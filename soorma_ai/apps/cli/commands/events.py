"""`soorma events`: the log of all published events."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import click

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.apps.cli.store_access import look_up, reading_client
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Untaken
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.surfaces.completion import PlanId
from soorma_ai.surfaces.ids import find_event, find_plan
from soorma_ai.surfaces.options import Access, Id, as_json, with_platform
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BOLD, DIM, Part, Printer, print_json, print_list
from soorma_ai.surfaces.terminal.wording import ago, json_line, short_id, time_left

LOOK_AGAIN_SECONDS = 0.3
PAGE = 500
PAYLOAD = 300
LEAST_PAYLOAD = 20
_UNTAKEN = ("REQUEST", "FOR", "ASKED BY", "OF", "SINCE", "UNTIL")


@click.group()
def events() -> None:
    """Look at the events of all plans and agents."""


@events.command()
@click.option("--follow", "-f", is_flag=True, help="Follow new events, until the plan ends or Ctrl-C.")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Number of past events.")
@click.option("--plan", type=PlanId(), help="Only events of this plan's tree.")
@as_json
@with_platform
def tail(access: Access, follow: bool, limit: int, plan: str | None, as_json: bool) -> None:
    """Print the newest events in the order of their arrival. With --json, a CloudEvent per line."""

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


@events.command()
@click.argument("event", type=Id())
@with_platform
def show(access: Access, event: str) -> None:
    """Print one event in full, as a CloudEvent in JSON."""
    found = look_up(access, lambda client: find_event(client, event))
    print_json(found.model_dump(mode="json", by_alias=True, exclude_none=True))


@events.command("untaken")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Largest number of rows.")
@as_json
@with_platform
def list_untaken(access: Access, limit: int, as_json: bool) -> None:
    """List requests without a taker, the oldest first."""
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

    print_list(found, "no requests without a taker", row, (_UNTAKEN, cells), as_json=as_json)


async def _chosen_events(
    access: Access, plan: str | None, limit: int, *, follow: bool
) -> AsyncGenerator[EventEnvelope]:
    async with reading_client(access) as client:
        root = (await client.plan(await find_plan(client, plan))).root_plan_id if plan else None
        async for event in newest_events(client, root, limit, follow=follow):
            yield event


async def newest_events(
    client: PlatformClient, root: str | None, limit: int, *, follow: bool
) -> AsyncGenerator[EventEnvelope]:
    """Yield the newest events of the tenant, or of a root plan's tree, and on request later ones."""
    past = await _past(client, root, max(limit, 1))
    for row in past if limit else []:
        yield row.event
    last = past[-1].seq if past else 0
    plan = await client.follow(root) if follow and root is not None else None
    while follow:
        is_over = plan is not None and (await plan.status()).is_final
        page = await client.events(after=last, limit=PAGE, plan_id=root)
        for row in page.events:
            yield row.event
        last = page.after
        if page.is_end and is_over:
            return
        if page.is_end:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


async def _past(client: PlatformClient, root: str | None, limit: int) -> list[StoredEvent]:
    """Return so many of the newest events, in the order of their arrival."""
    found, before, is_end = list[StoredEvent](), 0, False
    while len(found) < limit and not is_end:
        page = await client.events(after=before, limit=min(limit - len(found), PAGE), plan_id=root, newest=True)
        found += page.events
        before, is_end = page.after, page.is_end
    return found[::-1]


def print_event(printer: Printer, event: EventEnvelope) -> None:
    """Print one line on a terminal; --json has the rest."""
    when = f"{event.time.astimezone():%H:%M:%S.%f}"[:12]
    plan = f"  plan {short_id(event.plan_id)}" if event.plan_id else ""
    source, type = one_line(event.source), one_line(event.type)
    time_and_topic = f"{when}  {event.topic:<19} "
    left = printer.console.width - len(f"{time_and_topic}{source} {type}{plan}  ")
    data = f"  {json_line(event.data, PAYLOAD if printer.is_plain else max(LEAST_PAYLOAD, left))}" if event.data else ""
    printer.line((time_and_topic, DIM), f"{source} ", (type, BOLD), data, (plan, DIM))
