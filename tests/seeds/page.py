"""The page for readers of the seed documents, made of the tables. `python tests/seeds/page.py` writes it."""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "from-the-documents.md"

if __name__ == "__main__":
    sys.path[:0] = [str(PROJECT), str(PROJECT / "tests")]

from seeds.explained import EXPLAINED, HABITS  # noqa: E402
from seeds.kinds import Change, How, Names, NotRun, Runs, Sample, Shown  # noqa: E402
from seeds.names import SKETCHES  # noqa: E402
from seeds.table import SAMPLES  # noqa: E402

_INTRODUCTION = """\
# From the documents

For a reader of the five design documents: what works as they print it, what is different here, and why. Each of their
code blocks is listed, by its number in its document, and each name that a block prints is here, or in the lists below.

This page is made of the tables in `tests/seeds` by `python tests/seeds/page.py`, and a test holds it to them. Other
tests run the samples' own lines, and compare the tables with the documents where these lie beside the project; without
them, they are skipped and say so.

* **as printed**: a test runs the sample's own lines, all of them but for those that are told.
* **names**: it sketches classes; their public names are ours, but for those that are told.
* **shown**: tests show what it says, without its code.
* **not run**: it is no code.
"""


def page() -> str:
    parts = [_INTRODUCTION]
    for document, samples in groupby(SAMPLES, key=lambda sample: sample.document):
        rows = "\n".join(_row(sample) for sample in samples)
        parts.append(f"## {document}\n\n| block | under | | what is different, and why |\n|---|---|---|---|\n{rows}\n")
    parts.append(f"## Habits\n\n{_table('what is written', HABITS)}")
    parts.append(f"## Members that differ\n\n{_table('name', dict(_members()))}")
    reasons = {f"`{name}`": why for name, why in EXPLAINED.items()}
    parts.append(f"## Names that are not here\n\n{_table('name', dict(sorted(reasons.items())))}")
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
    return f"| {head} | why |\n|---|---|\n{lines}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
