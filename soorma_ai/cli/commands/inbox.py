"""`soorma inbox`: what plans ask of people."""

import click

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.cli.options import Access, as_json, with_platform
from soorma_ai.cli.store_access import goals_of, look_up
from soorma_ai.cli.view.waits import print_commands, print_wait, row
from soorma_ai.clients.platform_client import PlatformClient
from soorma_ai.domain.expectations import Wait
from soorma_ai.terminal.printing import Printer, print_json


@click.command()
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@as_json
@with_platform
def inbox(access: Access, limit: int, as_json: bool) -> None:
    """List what waits for a person, the most urgent first."""
    open_now, now = look_up(access, lambda client: _load(client, limit)), SystemClock().now()
    printer = Printer()
    if as_json:
        print_json([wait for wait, _ in open_now])
    elif not open_now:
        Printer(stderr=True).line("nothing waits for a person")
    elif printer.is_plain:
        printer.rows(row(wait, now) for wait, _ in open_now)
    else:
        for number, (wait, goal) in enumerate(open_now):
            if number:
                printer.line()
            print_wait(printer, wait, goal, now)
            print_commands(printer, wait, access)


async def _load(client: PlatformClient, limit: int) -> list[tuple[Wait, str]]:
    """Return the open questions, each with the goal of the plan that asks."""
    waits = await client.waits(limit=limit)
    goals = await goals_of(client, {wait.plan_id for wait in waits if wait.plan_id})
    return [(wait, goals.get(wait.plan_id or "", "")) for wait in waits]
