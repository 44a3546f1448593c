"""`soorma plans`: list, show, cancel, resume, fork."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.apps.cli.store_access import CommandRunner, look_up
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.context_parts.progress import PlanLine
from soorma_ai.features.tracking import plan_list
from soorma_ai.features.tracking.story import print_trace
from soorma_ai.features.tracking.trace import Trace
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.surfaces.completion import PlanId
from soorma_ai.surfaces.ids import find_plan
from soorma_ai.surfaces.options import Access, as_json, with_platform
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import Part, Printer, print_json, print_list

MOST_EXPLAINED = 100
MOST_AT_ONCE = 100


@click.group()
def plans() -> None:
    """List, show, cancel, resume and fork plans."""


@plans.command()
@click.option("--status", type=click.Choice([str(status) for status in PlanStatus]), help="Only plans in this status.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Largest number of rows.")
@as_json
@with_platform
def ls(access: Access, status: str | None, limit: int, as_json: bool) -> None:
    """List plans, the newest first."""

    async def load(client: PlatformClient) -> tuple[list[PlanRecord], dict[str, str], dict[str, PlanLine]]:
        found = await client.plans(status=status, limit=limit)
        if as_json:
            return found, {}, {}
        return found, await _states(client, found), await _lines(client, status, limit)

    records, states, lines = look_up(access, load)
    now, width = SystemClock().now(), Printer().console.width

    def row(plan: PlanRecord) -> tuple[str, ...]:
        return plan_list.row(plan, states.get(plan.plan_id, ""), lines.get(plan.plan_id))

    def cells(plan: PlanRecord) -> tuple[Part, ...]:
        return plan_list.cells(plan, states.get(plan.plan_id, ""), lines.get(plan.plan_id), now, width)

    print_list(records, "no plans", row, (plan_list.TITLES, cells), as_json=as_json)


@plans.command()
@click.argument("plan", type=PlanId())
@click.option("--html", "page", type=click.Path(dir_okay=False, path_type=Path), help="Write one page to send.")
@as_json
@with_platform
def show(access: Access, plan: str, page: Path | None, as_json: bool) -> None:
    """Show the causal chain of a plan: actor, cause and moment of each event.

    The page that --html writes has the timeline, the graph, the story and all decisions, and needs nothing beside it.
    """
    if page is not None and as_json:
        raise click.UsageError("--html writes a page, and --json prints JSON: give one of them")

    async def load(client: PlatformClient) -> Trace:
        return await client.trace(await find_plan(client, plan))

    trace = look_up(access, load)
    if page is not None:
        _write(page, trace)
    elif as_json:
        print_json(trace)
    else:
        print_trace(trace)


@plans.command()
@click.argument("plan", type=PlanId())
@click.option("--reason", default="cancelled by request", show_default=True, help="Reason, kept with the plan.")
@as_json
@with_platform
def cancel(access: Access, plan: str, reason: str, as_json: bool) -> None:
    """Ask a plan to stop, with all that it delegated."""
    plan_id, runner = look_up(access, lambda client: find_plan(client, plan)), CommandRunner(access)
    is_cancelled = runner.steer(lambda client: client.cancel(plan_id, reason))
    if as_json:
        print_json({"plan_id": plan_id, "cancelled": is_cancelled})
    else:
        Printer().line("cancelling" if is_cancelled else "it has already ended", f" plan {plan_id}")
    if is_cancelled and not runner.has_owner:
        Printer(stderr=True).line("No agents running on this store; the plan stops when its planner starts.")
    if not is_cancelled:
        raise click.exceptions.Exit(1)


@plans.command()
@click.argument("plan", type=PlanId(), required=False)
@click.option("--all", "every", is_flag=True, help="All plans that need an operator.")
@click.option("--agent", metavar="PLANNER", help="With --all: only plans of this planner.")
@as_json
@with_platform
def resume(access: Access, plan: str | None, *, every: bool, agent: str | None, as_json: bool) -> None:
    """Resume a plan that was paused, or that needs an operator: its model asks again.

    A plan needs an operator while its model refuses the set-up: a key, a quota, the model's name, a missing library.
    """
    if (plan is None) is not every or (agent is not None and not every):
        raise click.UsageError("give a PLAN, or --all, with --agent if it is for one planner")
    runner = CommandRunner(access)
    if plan is not None:
        plan_id = look_up(access, lambda client: find_plan(client, plan))
        runner.steer(lambda client: client.resume(plan_id))
        resumed = [plan_id]
    else:
        resumed = runner.steer(lambda client: client.resume_all(agent=agent))
    if as_json:
        print_json({"plan_ids": resumed})
    else:
        Printer().line(f"resumed plan {resumed[0]}" if plan else f"resumed {len(resumed)} plans")
    if resumed and not runner.has_owner:
        Printer(stderr=True).line("No agents running on this store; a plan continues when its planner starts.")


@plans.command()
@click.argument("plan", type=PlanId())
@click.option("--at", type=click.IntRange(1), metavar="N", required=True, help="Number of the decision to ask anew.")
@click.option("--model", default="", metavar="MODEL", help="Ask this model in the place of the planner's.")
@click.option("--note", default="", metavar="TEXT", help="Note for the model, told with each question.")
@click.option("--dry", is_flag=True, help="Use recorded replies, and stop at the first difference.")
@click.option("--act", is_flag=True, help="Send approved requests for real.")
@click.option("--key", default="", metavar="KEY", help="The same key begins one fork.")
@as_json
@with_platform
def fork(access: Access, plan: str, *, at: int, as_json: bool, **change: Any) -> None:
    """Begin a new plan with the steps of PLAN up to a decision, and ask that decision anew.

    Each request of the fork is held for a person. Without --act nothing is sent: the fork ends at an approved request.
    """
    plan_id, runner = look_up(access, lambda client: find_plan(client, plan)), CommandRunner(access)
    forked = runner.steer(lambda client: client.fork(plan_id, at, **change))
    if as_json:
        print_json(forked)
    else:
        printer = Printer()
        printer.line(f"plan {forked.plan_id}: {forked.origin.title}")
        for name in forked.unanswered:
            printer.line(f"open then, and without an answer in the fork: {one_line(name)}")
    if not runner.has_owner:
        Printer(stderr=True).line("No agents running on this store; the fork goes on when its planner starts.")


async def _states(client: PlatformClient, found: Sequence[PlanRecord]) -> dict[str, str]:
    """Return the reasons of sleeping plans by plan, of many of the first ones."""
    asleep = [plan.plan_id for plan in found if plan.status is PlanStatus.PAUSED][:MOST_EXPLAINED]
    return {plan_id: (await (await client.follow(plan_id)).describe()).partition("; ")[2] for plan_id in asleep}


async def _lines(client: PlatformClient, status: str | None, limit: int) -> dict[str, PlanLine]:
    """Return the costs and the open waits of the newest plans, by plan."""
    found, before = dict[str, PlanLine](), 0
    while len(found) < limit:
        page = await client.tracker.plans(status=status, before=before, limit=min(limit - len(found), MOST_AT_ONCE))
        found.update({one.plan_id: one for one in page.plans})
        before = page.before
        if page.is_end:
            break
    return found


def _write(page: Path, trace: Trace) -> None:
    from soorma_ai.apps.console.plan_view import report

    try:
        page.write_text(report(trace), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{page} cannot be written: {error.strerror}") from error
    Printer(stderr=True).line(f"{page} shows plan {trace.plan_id}; it contains the plan's inputs and prompts")
