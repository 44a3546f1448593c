"""`soorma inbox`: what plans ask of people."""

import click

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.cli.options import Access, as_json, with_access
from soorma_ai.cli.store_access import look_up
from soorma_ai.cli.view.waits import print_commands, print_wait, row
from soorma_ai.domain.expectations import Wait
from soorma_ai.runtime.client.client import Client
from soorma_ai.terminal.printing import Printer, print_json


@click.command()
@as_json
@with_access
def inbox(access: Access, as_json: bool) -> None:
    """List what waits for a person, the most urgent first."""
    open_now, now = look_up(access, _load), SystemClock().now()
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
            print_commands(printer, wait, access.flags)


async def _load(client: Client) -> list[tuple[Wait, str]]:
    """Return the open questions, each with the goal of the plan that asks."""
    waits = await client.waits()
    plans = {wait.plan_id: await client.services.store.plans.plan(wait.plan_id) for wait in waits if wait.plan_id}
    goals = {plan_id: plan.goal_event for plan_id, plan in plans.items() if plan}
    return [(wait, goals.get(wait.plan_id or "", "")) for wait in waits]
