"""`soorma cases`: make, list, export and import cases."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import click

from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.errors import NotFound
from soorma_ai.features.trials.cases.calls import CaseCalls
from soorma_ai.features.trials.cases.records import CaseKind, DecisionCase
from soorma_ai.surfaces.completion import PlanId
from soorma_ai.surfaces.ids import find_plan
from soorma_ai.surfaces.options import Access, as_json, with_platform
from soorma_ai.surfaces.store_access import open_store
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import BAD, GOOD, WAITING, Part, Printer, print_list
from soorma_ai.surfaces.terminal.wording import short_id

_STYLES = {CaseKind.RIGHT: GOOD, CaseKind.SHOULD: WAITING, CaseKind.WRONG: BAD}
_WORDS = {CaseKind.RIGHT: "is right", CaseKind.SHOULD: "should be another", CaseKind.WRONG: "is wrong"}
_TITLES = ("ID", "SET", "JUDGEMENT", "DECISION")
# An import over HTTP goes in requests of so many cases.
BATCH = 20


class CaseClient(KernelCalls, CaseCalls, Protocol):
    """Calls of the kernel and about cases."""


@click.group()
def cases() -> None:
    """Make, list, export and import cases: recorded decisions with a judgement.

    Each edited or rejected approval is one. `soorma trial --cases SET --model MODEL` asks a model their questions.
    """


@cases.command()
@click.argument("name", metavar="[SET]", default="")
@as_json
@with_platform
def ls(access: Access, name: str, as_json: bool) -> None:
    """List cases."""
    found = open_store(access).steer(lambda client: collect(client, name))
    print_list(found, "no cases", _words_in, (_TITLES, _row), as_json=as_json)


@cases.command()
@click.argument("plan", type=PlanId())
@click.argument("number", type=click.IntRange(1))
@click.option("--name", metavar="SET", required=True, help="Set of the case, and name of its file.")
@click.option("--right", "kind", flag_value=str(CaseKind.RIGHT), help="The decision is right.")
@click.option("--wrong", "kind", flag_value=str(CaseKind.WRONG), help="The decision is wrong.")
@click.option(
    "--should",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="JSON file with the wanted payload, or with the whole wanted answer.",
)
@click.option("--free", multiple=True, metavar="POINTER", help="Part of the payload to leave out of the comparison.")
@with_platform
def add(access: Access, plan: str, number: int, **given: Any) -> None:
    """Make a case of the decision NUMBER of a plan."""
    name, kind, free = given["name"], given["kind"], given["free"]
    if (kind is None) is (given["should"] is None):
        raise click.UsageError("give one of --right, --wrong and --should FILE")
    should = _read_object(given["should"]) if given["should"] is not None else None

    async def make(client: CaseClient) -> DecisionCase:
        found = await find_plan(client, plan)
        judged = CaseKind(kind or CaseKind.SHOULD)
        return await client.add_case(found, number, name, judged, should=should, free=free)

    made = open_store(access).steer(make)
    Printer().line(f"case {short_id(made.case_id)} in {made.name}: decision {number} {_WORDS[made.kind]}")


@cases.command()
@click.argument("case", metavar="ID")
@with_platform
def rm(access: Access, case: str) -> None:
    """Remove a case."""

    async def remove(client: CaseClient) -> str:
        found = [one.case_id for one in await client.cases() if one.case_id.startswith(case)]
        if len(found) != 1:
            raise NotFound(f"{len(found)} cases begin with {case!r}; `soorma cases ls` lists them")
        await client.remove_case(found[0])
        return found[0]

    Printer().line(f"removed case {open_store(access).steer(remove)}")


@cases.command()
@click.argument("name", metavar="[SET]", default="")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("cases"),
    show_default=True,
    help="Folder of the files.",
)
@with_platform
def export(access: Access, name: str, folder: Path) -> None:
    """Write cases to files, one for each set, in place of those there."""
    from soorma_ai.features.trials.cases.files import write_cases

    found = open_store(access).steer(lambda client: collect(client, name))
    if not found:
        raise NotFound(f"no cases{f' in {name}' if name else ''}; `soorma cases add` makes one")
    for path, count in write_cases(folder, found).items():
        Printer().line(f"{path}: {count} {'case' if count == 1 else 'cases'}")


@cases.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@with_platform
def import_(access: Access, files: Sequence[Path]) -> None:
    """Keep the cases of files in the store, in place of those with the same id."""
    from soorma_ai.features.trials.cases.files import read_cases

    found = [case for path in files for case in read_cases(path)]

    async def keep(client: CaseClient) -> int:
        batches = [found[first : first + BATCH] for first in range(0, len(found), BATCH)]
        return sum([await client.import_cases(batch) for batch in batches])

    added = open_store(access).steer(keep)
    Printer().line(f"{len(found)} cases, {added} of them new")


async def collect(client: CaseCalls, name: str) -> list[DecisionCase]:
    """Return the cases of a set, with those of the latest reviews."""
    await client.collect_cases()
    return await client.cases(name)


def _words_in(case: DecisionCase) -> tuple[str, ...]:
    return tuple(part if isinstance(part, str) else part[0] for part in _row(case))


def _row(case: DecisionCase) -> tuple[Part, ...]:
    """Return the cells of a case; the last one has room for all of its decision."""
    judgement = (str(case.kind), _STYLES[case.kind])
    about = f"{one_line(case.plan.agent)} {short_id(case.plan.plan_id)} {case.number}"
    note = f": {one_line(case.note)}" if case.note else ""
    return short_id(case.case_id), one_line(case.name), judgement, f"{about}{note}"


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value: object = json.loads(path.read_text())
    except ValueError as error:
        raise click.UsageError(f"{path} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f"{path} holds no JSON object; give the wanted payload as one")
    return cast("dict[str, Any]", value)
