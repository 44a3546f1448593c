"""`soorma trial`: recorded answers before today's rules, and recorded questions to another model."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click
from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.features.trials.calls import TrialCalls
from soorma_ai.features.trials.cases.calls import CaseCalls
from soorma_ai.features.trials.records import MOST_TIMES, ModelTrial, PlanTrial, Stop
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.parameters import MOST_ITEMS
from soorma_ai.settings import is_postgres, read_settings, sqlite_path
from soorma_ai.surfaces.completion import PlanId
from soorma_ai.surfaces.ids import find_plan
from soorma_ai.surfaces.options import Access, Age, as_json, with_platform
from soorma_ai.surfaces.store_access import open_store
from soorma_ai.surfaces.terminal.printing import Printer, print_json

if TYPE_CHECKING:
    from soorma_ai.features.trials.figures import TrialReport
    from soorma_ai.features.trials.ports import TrialLedger
    from soorma_ai.kernel.runtime.client.client import Client

Collect = Callable[[AsyncGenerator[ModelTrial]], Coroutine[Any, Any, None]]
# Exit code of a command that a signal ends.
INTERRUPTED = 130


class TrialClient(KernelCalls, TrialCalls, Protocol):
    """Calls of the kernel and for trials."""


class LedgerClient(CaseCalls, Protocol):
    """Client of the owner of a store."""

    @property
    def trial_ledger(self) -> "TrialLedger": ...


class TrialOptions(Struct, frozen=True, kw_only=True):
    """Options of the command. Plans of other `planners` are left out; with `last`, it ends behind so many decisions."""

    plan: str | None
    since: timedelta | None
    sample: int
    prompts: Path | None
    cases: str | None
    shadow: str | None
    model: str | None
    times: int
    max_usd: float | None
    at_least: float | None
    api_base: str | None
    price: tuple[float, float] | None
    as_json: bool
    planners: tuple[str, ...] | None = None
    last: int | None = None


class TrialRun(Struct, frozen=True):
    """Run of a command: the trials that were made, their figures, and whether a signal ended it."""

    trials: list[ModelTrial]
    report: "TrialReport"
    is_interrupted: bool

    @property
    def is_whole(self) -> bool:
        return not any(one.stopped for one in self.trials)


@click.command()
@click.argument("plan", required=False, type=PlanId())
@click.option("--since", type=Age(), metavar="AGE", help="Without PLAN: plans of this age at most, as 36h, 30d, 8w.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Without PLAN: number of newest plans; of newest outcomes with --shadow.",
)
@click.option(
    "--prompts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with prompts, searched before all others.",
)
@click.option("--cases", metavar="SET", help="Ask the questions of cases/SET.jsonl, or of the store's cases.")
@click.option("--shadow", metavar="PLANNER", help="Show the outcomes of this planner's shadow.")
@click.option("--model", metavar="MODEL", help="Ask this model the recorded questions again.")
@click.option(
    "--times", type=click.IntRange(1, MOST_TIMES), default=1, show_default=True, help="Answers to each question."
)
@click.option("--max-usd", type=click.FloatRange(0), metavar="USD", help="Budget of all calls of the trial.")
@click.option("--at-least", type=click.FloatRange(0, 1), metavar="SHARE", help="Exit code 0 from this pass@1 on.")
@click.option("--api-base", metavar="URL", help="Address of the model's provider.")
@click.option("--price", type=(float, float), metavar="IN OUT", help="US dollars per token in and per token out.")
@as_json
@with_platform
def trial(access: Access, **given: Any) -> None:
    """Judge recorded answers by today's code, registry, rules and prompts, or ask another model.

    Without --model, no model is called. Nothing is carried out. A plan's trial stops at its first difference. Exit code
    1 for a difference; with --at-least, for a lower share of good answers.

    Answers of a model are kept: the same command again goes on after a stop, and pays no answer twice.
    """
    wanted = TrialOptions(**given)
    access = _check_options(access, wanted)
    if wanted.shadow is not None:
        _show_shadow(access, wanted.shadow, wanted)
        return
    if wanted.model is not None:
        _try_model(access, wanted, wanted.model)
        return
    found = open_store(access).look_up(lambda client: _try_plans(client, wanted))
    from soorma_ai.features.trials.printing import print_plan_trials

    if wanted.as_json:
        print_json(found)
    else:
        print_plan_trials(Printer(), found)
    if not all(one.is_same for one in found):
        raise click.exceptions.Exit(1)


def _check_options(access: Access, wanted: TrialOptions) -> Access:
    """Return the access with the prompts of the options. Raise UsageError for options that exclude each other."""
    if wanted.plan is not None and wanted.since is not None:
        raise click.UsageError("--since selects plans: leave out PLAN")
    of_model = {"--times": wanted.times > 1, "--max-usd": wanted.max_usd is not None}
    of_model |= {"--at-least": wanted.at_least is not None, "--api-base": wanted.api_base is not None}
    of_model |= {"--price": wanted.price is not None, "--cases": wanted.cases is not None}
    if wanted.model is None and (alone := [name for name, is_given in of_model.items() if is_given]):
        raise click.UsageError(f"{alone[0]} is for a trial of a model: give --model too")
    others = (wanted.plan, wanted.since, wanted.prompts, wanted.cases, wanted.model)
    if wanted.shadow is not None and any(one is not None for one in others):
        raise click.UsageError("--shadow shows kept outcomes: leave out PLAN, --since, --prompts, --cases and --model")
    if wanted.cases is not None and (wanted.plan is not None or wanted.since is not None):
        raise click.UsageError("--cases names the questions: leave out PLAN and --since")
    of_machine = {
        "--prompts": wanted.prompts,
        "--cases": wanted.cases,
        "--api-base": wanted.api_base,
        "--price": wanted.price,
    }
    if access.server is not None:
        for name in (name for name, value in of_machine.items() if value is not None):
            raise click.UsageError(f"{name} holds for this machine alone: leave out --url")
    return access if wanted.prompts is None else replace(access, prompts_dirs=(wanted.prompts,))


def _show_shadow(access: Access, planner: str, wanted: TrialOptions) -> None:
    from soorma_ai.features.trials.printing import print_shadow

    limit = min(wanted.sample, MOST_ITEMS)
    found = open_store(access).look_up(lambda client: client.shadow_report(planner, limit=limit))
    if wanted.as_json:
        print_json(found)
    else:
        print_shadow(Printer(), found)


async def _try_plans(client: TrialClient, wanted: TrialOptions) -> list[PlanTrial]:
    return [await client.trial(plan_id) for plan_id in await _find_plans(client, wanted)]


async def _find_plans(client: KernelCalls, wanted: TrialOptions) -> list[str]:
    if wanted.plan is not None:
        return [await find_plan(client, wanted.plan)]
    plans = await client.plans(limit=wanted.sample)
    if wanted.planners is not None:
        plans = [one for one in plans if plain_name(one.agent) in wanted.planners]
    first = SystemClock().now() - wanted.since if wanted.since is not None else None
    return [one.plan_id for one in plans if first is None or one.created_at >= first]


def _try_model(access: Access, wanted: TrialOptions, model: str) -> None:
    run = run_trials(access, wanted, model)
    if wanted.as_json:
        print_json({"report": run.report, "plans": run.trials})
    must_be_whole(run, wanted)
    if not run.report.is_good(wanted.at_least):
        raise click.exceptions.Exit(1)


def run_trials(access: Access, wanted: TrialOptions, model: str) -> TrialRun:
    """Try plans or cases by a model, and print each, and then the figures of all."""
    from soorma_ai.features.trials.figures import report_of
    from soorma_ai.features.trials.printing import print_model_trial, print_report

    printer, found = Printer(), list[ModelTrial]()

    async def collect(trials: AsyncGenerator[ModelTrial]) -> None:
        found.clear()
        async with aclosing(trials):
            async for one in trials:
                found.append(one)
                if not wanted.as_json:
                    print_model_trial(printer, one)
                if wanted.last is not None and sum(trial.tried for trial in found) >= wanted.last:
                    return

    is_interrupted = _run_until_interrupted(access, wanted, model, collect)
    report = report_of(found, wanted.times)
    if not wanted.as_json:
        print_report(printer, report, model, "plans same" if wanted.cases is None else "cases good")
    return TrialRun(found, report, is_interrupted)


def must_be_whole(run: TrialRun, wanted: TrialOptions) -> None:
    """Raise Exit for a run that was stopped, with the way to go on."""
    if run.is_interrupted:
        click.echo("stopped; the same command goes on from here", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if not run.is_whole:
        click.echo(
            f"the budget of {wanted.max_usd} US dollars is spent; a larger --max-usd goes on from here", err=True
        )
        raise click.exceptions.Exit(1)


def _run_until_interrupted(access: Access, wanted: TrialOptions, model: str, collect: Collect) -> bool:
    """Run the trials over HTTP, or in this process beside the owner of the store. Return whether a signal ended it."""
    from soorma_ai.features.trials.cases.commands import collect as collect_cases
    from soorma_ai.features.trials.cases.files import find_file, read_cases
    from soorma_ai.features.trials.local_trial import ModelChange, try_cases, try_cases_alone, try_plans

    store = open_store(access)
    change = ModelChange(model, wanted.times, wanted.max_usd, wanted.api_base, wanted.price)
    file = find_file(wanted.cases) if wanted.cases is not None else None

    async def try_locally(reader: "Client", owner: LedgerClient) -> None:
        if wanted.cases is None:
            await collect(try_plans(reader, owner.trial_ledger, await _find_plans(reader, wanted), change))
            return
        cases = read_cases(file) if file else await collect_cases(owner, wanted.cases)
        await collect(try_cases(reader, owner.trial_ledger, cases, change))

    try:
        if file is not None and not _has_store(access):
            asyncio.run(collect(try_cases_alone(_prompt_folders(access), read_cases(file), change)))
        elif access.server is not None:
            store.look_up(lambda client: collect(_try_over_http(client, wanted, model)))
        else:
            store.steer_beside(try_locally)
    except KeyboardInterrupt:
        return True
    return False


def _has_store(access: Access) -> bool:
    path = sqlite_path(access.store_url) if not is_postgres(access.store_url) else None
    return path is None or path.is_file()


def _prompt_folders(access: Access) -> tuple[Path, ...]:
    return *access.prompts_dirs, *read_settings(access.store_url).prompts_dirs


async def _try_over_http(client: TrialClient, wanted: TrialOptions, model: str) -> AsyncGenerator[ModelTrial]:
    """Try plans by a server, each by as many calls as it takes."""
    spent = 0.0
    for plan_id in await _find_plans(client, wanted):
        left = None if wanted.max_usd is None else max(0.0, wanted.max_usd - spent)
        trial, paid = await client.try_model(plan_id, model, times=wanted.times, max_usd=left), 0.0
        while trial.stopped is Stop.TIME:
            paid += trial.paid_usd
            trial = await client.try_model(plan_id, model, times=wanted.times, max_usd=left)
        spent += trial.now.usd or 0.0
        yield replace(trial, paid_usd=trial.paid_usd + paid)
        if trial.stopped is Stop.BUDGET:
            return
