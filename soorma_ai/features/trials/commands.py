"""`soorma trial`: recorded answers before today's code, registry, rules and prompts."""

from datetime import timedelta
from pathlib import Path
from typing import Protocol

import click
from msgspec.structs import replace

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.features.trials.calls import TrialCalls
from soorma_ai.features.trials.figures import share_of
from soorma_ai.features.trials.records import DecisionTrial, Outcome, PlanTrial
from soorma_ai.surfaces.completion import PlanId
from soorma_ai.surfaces.ids import find_plan
from soorma_ai.surfaces.options import Access, Age, as_json, with_platform
from soorma_ai.surfaces.store_access import open_store
from soorma_ai.surfaces.terminal.escapes import one_line, printable
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, GOOD, WAITING, Part, Printer, print_json
from soorma_ai.surfaces.terminal.wording import short_id

_STYLES = {Outcome.SAME: GOOD, Outcome.REWORDED: WAITING, Outcome.DIFFERENT: BAD, Outcome.REFUSED: BAD}
_INDENT = 3


class TrialClient(KernelCalls, TrialCalls, Protocol):
    """Calls of the kernel and for trials."""


@click.command()
@click.argument("plan", required=False, type=PlanId())
@click.option("--since", type=Age(), metavar="AGE", help="Without PLAN: plans of this age at most, as 36h, 30d, 8w.")
@click.option(
    "--sample", type=click.IntRange(1), default=50, show_default=True, help="Without PLAN: number of newest plans."
)
@click.option(
    "--prompts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with prompts, searched before all others.",
)
@as_json
@with_platform
def trial(
    access: Access, plan: str | None, since: timedelta | None, sample: int, prompts: Path | None, as_json: bool
) -> None:
    """Judge recorded answers by today's code, registry, rules and prompts.

    No model is called and nothing is carried out. A plan's trial stops at its first difference. Exit code 1 for a
    difference.
    """
    if prompts is not None:
        if access.server is not None:
            raise click.UsageError("--prompts names a folder of this machine: leave out --url")
        access = replace(access, prompts_dirs=(prompts,))
    if plan is not None and since is not None:
        raise click.UsageError("--since selects plans: leave out PLAN")
    found = open_store(access).look_up(lambda client: _try_plans(client, plan, since, sample))
    if as_json:
        print_json(found)
    else:
        _print(Printer(), found)
    if not all(one.is_same for one in found):
        raise click.exceptions.Exit(1)


async def _try_plans(client: TrialClient, plan: str | None, since: timedelta | None, sample: int) -> list[PlanTrial]:
    if plan is not None:
        return [await client.trial(await find_plan(client, plan))]
    plans = await client.plans(limit=sample)
    if since is not None:
        first = SystemClock().now() - since
        plans = [one for one in plans if one.created_at >= first]
    return [await client.trial(one.plan_id) for one in plans]


def _print(printer: Printer, found: list[PlanTrial]) -> None:
    for one in found:
        outcome = one.first.outcome if one.first else Outcome.SAME
        unread = f", {one.unreadable} unreadable" if one.unreadable else ""
        about = f"  {one_line(one.planner)}  {one_line(one.goal_event)}"
        compared = f"  {one.tried} of {one.count} decisions compared{unread}"
        printer.line((short_id(one.plan_id), BOLD), about, "  ", (outcome, _STYLES[outcome]), (compared, DIM))
        if one.first is not None:
            _print_difference(printer, one.first)
    if len(found) != 1:
        printer.line(*_summary(found))


def _summary(found: list[PlanTrial]) -> tuple[Part, ...]:
    if not found:
        return ("no plans",)
    share = share_of(sum(one.is_same for one in found), len(found))
    interval = f", 95 % interval {share.low:.1%} to {share.high:.1%}"
    return ((f"{share.good} of {share.count} plans same", BOLD), f" ({share.value:.1%}{interval})")


def _print_difference(printer: Printer, first: DecisionTrial) -> None:
    reason = one_line(first.reason)
    printer.line((f"decision {first.number}: ", BOLD), (reason, _STYLES[first.outcome]), indent=_INDENT)
    for line in (*first.answer, *first.question):
        style = GOOD if line.startswith("+") else BAD if line.startswith("-") else DIM
        printer.line((printable(line), style), indent=2 * _INDENT)
