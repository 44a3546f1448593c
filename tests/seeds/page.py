"""The page for readers of the seed documents, generated from the tables: `python tests/seeds/page.py`."""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "from-the-documents.md"

if __name__ == "__main__":
    sys.path[:0] = [str(PROJECT), str(PROJECT / "tests")]

from seeds.explained import ENDPOINTS, EXPLAINED, HABITS, HELPERS, IMPORTS, TABLES  # noqa: E402
from seeds.kinds import Change, How, Names, NotRun, Runs, Sample, Shown  # noqa: E402
from seeds.names import SKETCHES  # noqa: E402
from seeds.table import SAMPLES  # noqa: E402

_INTRODUCTION = """\
# From the documents

The five design documents, block by block: as printed, or different, with the reason. Each code block is listed by its
number in its document, and each printed name exists here or is in the lists below.

`python tests/seeds/page.py` generates this page from the tables in `tests/seeds`; a test compares them. Other tests run
the samples' own lines, and compare the tables with the documents beside the project; without these they are skipped,
with the reason.

* **as printed**: a test runs the sample's own lines, except the listed ones.
* **names**: it sketches classes; their public names exist here, except the listed ones.
* **shown**: tests show its statement, without its code.
* **not run**: it is no code.
"""


_ORDER_OF_PLANS = """The session model of sdk-refactoring-plan draws a plan that is pending until another one ends. \
Here a plan begins when its goal comes: submit the second goal after `await first.result()`, or let one planner pursue \
both. `status="pending"` of `create_from_goal` is accepted; the plan runs, since its goal is taken by then.
"""


def page() -> str:
    parts = [_INTRODUCTION]
    for document, samples in groupby(SAMPLES, key=lambda sample: sample.document):
        rows = "\n".join(_row(sample) for sample in samples)
        parts.append(f"## {document}\n\n| block | under | | difference, and reason |\n|---|---|---|---|\n{rows}\n")
    parts.append(f"## Habits\n\n{_table('habit', HABITS)}")
    imports = {_code(line): why for line, why in IMPORTS.items()}
    tables = {f"{document}: {head}": why for (document, head), why in TABLES.items()}
    parts.append(f"## Printed helpers of the base agent\n\n{_table('name', HELPERS)}")
    parts.append(f"## Printed imports\n\n{_table('import, of `soorma_ai` here', imports)}")
    parts.append(f"## Printed tables\n\n{_table('document and first row', tables)}\n{_ORDER_OF_PLANS}")
    parts.append(f"## Printed endpoints\n\n{_table('endpoint and method', ENDPOINTS)}")
    parts.append(f"## Members that differ\n\n{_table('name', dict(_members()))}")
    reasons = {f"`{name}`": why for name, why in EXPLAINED.items()}
    parts.append(f"## Missing names\n\n{_table('name', dict(sorted(reasons.items())))}")
    return "\n".join(parts)


def _row(sample: Sample) -> str:
    kind, told = _told(sample.how)
    return f"| {sample.number} | {_cell(sample.heading)} | {kind} | {'<br>'.join(map(_cell, told))} |"


def _told(how: How) -> tuple[str, list[str]]:
    match how:
        case Runs(changed=changed, otherwise=otherwise):
            return "as printed", [*(_change(change) for change in changed), *([otherwise] if otherwise else [])]
        case Names(otherwise=otherwise):
            return "names", [otherwise] if otherwise else []
        case Shown(why=why):
            return "shown", [why]
        case NotRun(why=why):
            return "not run", [why]


def _change(change: Change) -> str:
    if not change.seed:
        return f"also {_code(change.ours)}: {change.why}"
    if not change.ours:
        return f"without {_code(change.seed)}: {change.why}"
    return f"{_code(change.seed)} is {_code(change.ours)}: {change.why}"


def _code(line: str) -> str:
    fence = "``" if "`" in line else "`"
    return f"{fence}{line}{fence}"


def _members() -> Iterator[tuple[str, str]]:
    for name, sketch in SKETCHES.items():
        for member, why in sketch.differs.items():
            yield f"`{name}.{member}`", why


def _table(head: str, rows: dict[str, str]) -> str:
    lines = "\n".join(f"| {_cell(name)} | {_cell(why)} |" for name, why in rows.items())
    return f"| {head} | difference, and reason |\n|---|---|\n{lines}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
