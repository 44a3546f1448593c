"""`soorma upgrade`: open plans and parked requests before new code."""

from pathlib import Path

import click
from msgspec.structs import replace

from soorma_ai.apps.cli.loader import load_agents
from soorma_ai.apps.cli.store_access import look_into_store
from soorma_ai.features.trials.records import Outcome
from soorma_ai.features.trials.upgrade.records import EventChange, UpgradeReport
from soorma_ai.surfaces.options import Access, as_json, with_access
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, BOLD, DIM, GOOD, WAITING, Printer, print_json
from soorma_ai.surfaces.terminal.wording import short_id

_INDENT, _MOST_SHOWN = 3, 20


@click.command()
@click.argument("app", metavar="MODULE:APP", required=False)
@click.option("--check", is_flag=True, required=True, help="Check, and change nothing.")
@click.option(
    "--prompts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with prompts, searched before all others.",
)
@as_json
@with_access
def upgrade(access: Access, app: str | None, check: bool, prompts: Path | None, as_json: bool) -> None:
    """Judge open plans and parked requests by new code, before its release.

    APP has the new agents, as for `soorma run`; without it, the registered ones count. Shows each changed event, the
    open work that breaks, and the plans with another last decision today. No agent starts, no model is called, nothing
    is written. Exit code 1 for broken work, and for a refused last answer.
    """
    if prompts is not None:
        access = replace(access, prompts_dirs=(prompts,))
    new = [agent.registration() for agent in load_agents(app)] if app is not None else []
    report = look_into_store(access, lambda client: client.check_upgrade(new))
    if as_json:
        print_json(report)
    else:
        _print(Printer(), report)
    if not report.is_safe:
        raise click.exceptions.Exit(1)


def _print(printer: Printer, report: UpgradeReport) -> None:
    for change in report.changes:
        _print_change(printer, change)
    for one in report.broken[:_MOST_SHOWN]:
        printer.line((one_line(one.event_name), BOLD), "  breaks  ", (one_line(str(one)), BAD))
    for trial in report.trials[:_MOST_SHOWN]:
        if trial.first is not None:
            style = BAD if trial.first.outcome is Outcome.REFUSED else WAITING
            about = f"  {one_line(trial.planner)}  decision {trial.first.number} "
            printer.line((short_id(trial.plan_id), BOLD), about, (f"{trial.first.outcome}: ", style))
            printer.line((one_line(trial.first.reason), style), indent=_INDENT)
    more = max(0, len(report.broken) - _MOST_SHOWN) + max(0, len(report.trials) - _MOST_SHOWN)
    if more:
        printer.line((f"and {more:,} more; --json lists all", DIM))
    outcome = ("safe", GOOD) if report.is_safe else ("not safe", BAD)
    printer.line(outcome, (f": {report.plans:,} open plans, {report.held:,} open approvals", DIM))


def _print_change(printer: Printer, change: EventChange) -> None:
    declared = ", declared" if change.is_declared else ""
    style = WAITING if change.kind == "narrower" else DIM
    versions = f"{change.before} to {change.version}" if change.before != change.version else change.version
    about = f"  {one_line(change.agent)}  {one_line(versions)}  "
    printer.line((one_line(change.event_name), BOLD), about, (change.kind + declared, style))
    for reason in change.reasons:
        printer.line((one_line(reason), style), indent=_INDENT)
