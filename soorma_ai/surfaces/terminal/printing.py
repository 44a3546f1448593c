"""JSON for programs, styled and wrapped lines on a terminal, plain whole lines anywhere else."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.records import plain

BOLD, DIM, GOOD, BAD, WAITING, QUOTE = "bold", "dim", "green", "red", "yellow", "italic"

STATUS_STYLES = {
    PlanStatus.COMPLETED: GOOD,
    PlanStatus.FAILED: BAD,
    PlanStatus.CANCELLED: BAD,
    PlanStatus.PAUSED: WAITING,
}

LEAST_WIDTH = 20
LEAST_REST = 32
GAP = 2

Part = str | tuple[str, str]
T = TypeVar("T")


def text_of(parts: Iterable[Part]) -> Text:
    return Text.assemble(*(part for part in parts if part and part[0]))


class Printer:
    """Writes to stdout (or stderr), as it is at construction."""

    def __init__(self, *, stderr: bool = False) -> None:
        self.console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
        self._file = sys.stderr if stderr else sys.stdout

    @property
    def is_plain(self) -> bool:
        return not self.console.is_terminal

    def line(self, *parts: Part, indent: int = 0, label: str = "") -> None:
        """Print a line; on a terminal it is wrapped, each further line right of the `label`."""
        before = Text(" " * indent).append(label, style=DIM)
        text = text_of(parts)
        if self.is_plain:
            self._write(before.plain + text.plain)
            return
        for piece in text.wrap(self.console, max(LEAST_WIDTH, self.console.width - len(before))) or [text]:
            piece.rstrip()
            self.console.print(before + piece, no_wrap=True, overflow="ignore", crop=False)
            before = Text(" " * len(before))

    def command(self, text: str, indent: int = 0) -> None:
        """Print a command to copy: never wrapped, with less indent on a narrow terminal."""
        if self.is_plain:
            self._write(" " * indent + text)
            return
        indent = max(0, min(indent, self.console.width - len(text)))
        self.console.print(Text(" " * indent + text, style=DIM), no_wrap=True, overflow="ignore", crop=False)

    def tree(self, tree: Tree, depth: int = 0) -> None:
        """Print it; where it is plain, an entry is one whole line, and `depth` indents it."""
        if not self.is_plain:
            self.console.print(tree)
            return
        self._write("  " * depth + str(tree.label).replace("\n", "  "))
        for below in tree.children:
            self.tree(below, depth + 1)

    def rows(self, rows: Iterable[Sequence[str]]) -> None:
        """Print rows tab-separated, for programs."""
        for row in rows:
            self._write("\t".join(row))

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[Part]]) -> None:
        """Print rows for a terminal; the last column takes the rest of the line, or in narrow terminals lines of its
        own."""
        texts = [[text_of((part,)) for part in row] for row in rows]
        cells = [[Text(title, style=DIM) for title in titles], *texts]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        if self.console.width - sum(widths[:-1]) - GAP * len(widths) < min(widths[-1], LEAST_REST):
            self._two_lines(cells, widths)
            return
        table = Table(*titles, box=None, pad_edge=False, header_style=DIM)
        for column in table.columns[:-1]:
            column.no_wrap = True
        for row in texts:
            table.add_row(*row)
        self.console.print(table)

    def _two_lines(self, cells: Iterable[Sequence[Text]], widths: Sequence[int]) -> None:
        """Print each row on a line, and its last cell below."""
        for *row, last in cells:
            line = Text()
            for text, width in zip(row, widths, strict=False):
                line = line + text + Text(" " * (width - len(text) + GAP))
            line.rstrip()
            self.console.print(line, no_wrap=True, overflow="ellipsis")
            if last:
                self.line((last.plain, str(last.style)), indent=widths[0] + GAP)

    def _write(self, text: str) -> None:
        self._file.write(f"{text}\n")
        self._file.flush()


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print ASCII, without effects on a terminal. Spans are seconds."""
    written = to_jsonable_python(value, timedelta_mode="float", fallback=plain)
    sys.stdout.write(json.dumps(written, indent=indent) + "\n")
    sys.stdout.flush()


def print_list(
    found: Sequence[T],
    nothing: str,
    row: Callable[[T], Sequence[str]],
    columns: tuple[Sequence[str], Callable[[T], Sequence[Part]]],
    *,
    as_json: bool,
) -> None:
    """Print JSON, or a table on a terminal, or rows anywhere else. `columns` are titles, and the cells below them."""
    printer = Printer()
    titles, cells = columns
    if as_json:
        print_json(found)
    elif not found:
        Printer(stderr=True).line(nothing)
    elif printer.is_plain:
        printer.rows(map(row, found))
    else:
        printer.table(titles, map(cells, found))


def status_part(status: PlanStatus) -> Part:
    return (status, STATUS_STYLES.get(status, BOLD))
