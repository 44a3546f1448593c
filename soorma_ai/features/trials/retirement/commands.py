"""`soorma models`: list, retire and restore models."""

from typing import Any, Protocol

import click

from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.features.trials.commands import TrialOptions, TrialRun, must_be_whole, run_trials
from soorma_ai.features.trials.records import MOST_TIMES
from soorma_ai.features.trials.retirement.calls import ModelCalls
from soorma_ai.features.trials.retirement.records import ModelSwitch, ModelUse
from soorma_ai.kernel.domain.parameters import MOST_ITEMS
from soorma_ai.surfaces.options import Access, as_json, with_platform
from soorma_ai.surfaces.store_access import open_store
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import Printer, print_json, print_list

_TITLES = ("MODEL", "IN FORCE", "PLANNERS", "OPEN", "PARKED")


class ModelClient(KernelCalls, ModelCalls, Protocol):
    """Calls of the kernel and about models."""


@click.group()
def models() -> None:
    """List the models of planners, replace a retired one, and restore it."""


@models.command()
@as_json
@with_platform
def ls(access: Access, as_json: bool) -> None:
    """List models with their planners, their open plans, and the model in force."""
    found = open_store(access).look_up(_find)
    print_list(found, "no models", _row, (_TITLES, _row), as_json=as_json)


@models.command()
@click.argument("model")
@click.option("--to", required=True, metavar="MODEL", help="Model in its place.")
@click.option("--no-trial", is_flag=True, help="Switch without a trial.")
@click.option(
    "--last", type=click.IntRange(1), default=50, show_default=True, help="Latest decisions of the trial, whole plans."
)
@click.option(
    "--times", type=click.IntRange(1, MOST_TIMES), default=1, show_default=True, help="Answers to each question."
)
@click.option("--max-usd", type=click.FloatRange(0), metavar="USD", help="Budget of all calls of the trial.")
@click.option("--at-least", type=click.FloatRange(0, 1), metavar="SHARE", help="Switch from this pass@1 on alone.")
@click.option("--api-base", metavar="URL", help="Address of the provider, for the trial.")
@click.option("--price", type=(float, float), metavar="IN OUT", help="US dollars per token in and per token out.")
@as_json
@with_platform
def retire(access: Access, model: str, **given: Any) -> None:
    """Replace MODEL by another one for all open plans and new ones.

    Before that, a trial asks the other model the latest questions of these planners, and prints price and differences.
    An incomplete trial switches nothing; the same command goes on. `soorma models restore MODEL` undoes the switch.
    """
    to, no_trial, last, printed = given["to"], given.pop("no_trial"), given["last"], not given["as_json"]
    store = open_store(access)
    uses = {one.model: one for one in store.look_up(_find)}
    use = uses.get(model, ModelUse(model))
    if printed:
        Printer().line(f"{one_line(model)}: {_work_of(use)}")
    run = None if no_trial else _try(access, use, {**given, "last": last})
    switch = store.steer(lambda client: client.retire_model(model, to, price=given["price"]))
    if not printed:
        print_json({"switch": switch, "report": run.report if run else None, "plans": run.trials if run else []})
    else:
        _print_switch(switch)
        Printer().line(f"`soorma models restore {one_line(model)}` undoes this")


@models.command()
@click.argument("model")
@as_json
@with_platform
def restore(access: Access, model: str, as_json: bool) -> None:
    """Ask MODEL again, in the place of its replacement."""
    switch = open_store(access).steer(lambda client: client.restore_model(model))
    if as_json:
        print_json(switch)
    else:
        _print_switch(switch)


def _try(access: Access, use: ModelUse, given: dict[str, Any]) -> TrialRun:
    """Make the trial of a switch. Raise Exit for an incomplete one, and for too small a share of good answers."""
    to = given.pop("to")
    wanted = TrialOptions(
        plan=None,
        since=None,
        sample=MOST_ITEMS,
        prompts=None,
        cases=None,
        shadow=None,
        model=to,
        planners=use.planners,
        **given,
    )
    run = run_trials(access, wanted, to)
    must_be_whole(run, wanted)
    if wanted.at_least is not None and not run.report.is_good(wanted.at_least):
        if wanted.as_json:
            print_json({"switch": None, "report": run.report, "plans": run.trials})
        click.echo(f"{to} has less than {wanted.at_least:.0%} good answers: nothing is switched", err=True)
        raise click.exceptions.Exit(1)
    return run


async def _find(client: ModelClient) -> list[ModelUse]:
    return await client.models()


def _work_of(use: ModelUse | ModelSwitch) -> str:
    planners = ", ".join(map(one_line, use.planners)) or "no planner"
    return f"{planners}; {use.open_plans:,} open plans, {use.parked_plans:,} of them parked"


def _print_switch(switch: ModelSwitch) -> None:
    printer = Printer()
    printer.line(f"{one_line(switch.to)} in the place of {one_line(switch.model)}: {_work_of(switch)}")
    if switch.resumed:
        printer.line(f"{switch.resumed:,} plans at rest go on")


def _row(use: ModelUse) -> tuple[str, ...]:
    force = use.replacement.to if use.replacement else use.model
    planners = ", ".join(use.planners)
    return one_line(use.model), one_line(force), one_line(planners), f"{use.open_plans:,}", f"{use.parked_plans:,}"
