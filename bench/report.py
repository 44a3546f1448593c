"""Measurements as tables. Pure: figures in, Markdown out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from statistics import median

from bench.measure import Figures
from bench.table import FSYNCS, Bound, Row

# The figures of each program of a row, one for each round.
Runs = Mapping[str, Sequence[Figures]]

NOT_BESIDE = {"ms", "cpu_ms", FSYNCS, "begin", "end", "units"}
NOT_COUNTED = "not counted"
# Shown only where bounded; otherwise it repeats the time.
RATE = "per_s"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass(frozen=True)
class Spread:
    middle: float
    least: float
    most: float

    def __str__(self) -> str:
        if number(self.least) == number(self.most):
            return number(self.middle)
        return f"{number(self.middle)} ({number(self.least)} to {number(self.most)})"


def spread(values: Sequence[float]) -> Spread | None:
    return Spread(median(values), min(values), max(values)) if values else None


def number(value: float) -> str:
    """Return two or three significant digits; of a large number all before the point."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def value_of(bound: Bound, runs: Runs) -> Spread | None:
    """Return the value of a bound: a figure, or in each round its ratio to another program's."""
    mine = [figures.get(bound.figure) for figures in runs.get(bound.who, ())]
    if not bound.of:
        return spread([value for value in mine if value is not None])
    others = [figures.get(bound.figure) for figures in runs.get(bound.of, ())]
    pairs = zip(mine, others, strict=False)
    return spread([a / b for a, b in pairs if a is not None and b])


def verdict(bound: Bound, value: Spread | None) -> str:
    """Tell whether the median is within the bound, and whether it reaches the aim."""
    if value is None:
        return "not measured"
    if (value.middle > bound.limit) if bound.kind == "at most" else (value.middle < bound.limit):
        return "**misses**"
    comes = bound.aim is None or value.middle <= bound.aim
    if isinf(bound.limit):
        return "comes to the aim" if comes else "above the aim"
    return "holds" if comes else "holds, above the aim"


def bounds_table(rows: Iterable[Row], measured: Mapping[str, Runs]) -> str:
    lines = ["| work | figure | found | of CPU | wanted | aim | |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        for bound in row.bounds:
            value = value_of(bound, measured.get(row.name, {}))
            wanted = "" if isinf(bound.limit) else f"{bound.kind} {number(bound.limit)}"
            aim = "" if bound.aim is None else number(bound.aim)
            told = verdict(bound, value)
            is_time = bound.of and bound.figure == "ms"
            cpu = value_of(replace(bound, figure="cpu_ms"), measured.get(row.name, {})) if is_time else None
            lines.append(f"| {row.work} | {bound.words} | {value or ''} | {cpu or ''} | {wanted} | {aim} | {told} |")
    return "\n".join(lines)


def figures_table(rows: Iterable[Row], measured: Mapping[str, Runs]) -> str:
    lines = ["| work | who | ms | CPU ms | fsyncs | beside |", "|---|---|---|---|---|---|"]
    for row in rows:
        hidden = NOT_BESIDE | ({RATE} - {bound.figure for bound in row.bounds})
        for who, runs in measured.get(row.name, {}).items():
            if not runs:
                continue
            values = {name: spread([figures[name] for figures in runs if name in figures]) for name in runs[0]}
            told = [(name, value) for name, value in values.items() if value and name not in hidden]
            beside = ", ".join(f"{name} {value}" for name, value in told)
            fsyncs = values.get(FSYNCS)
            cells = (row.name, who, values["ms"], values["cpu_ms"], fsyncs or NOT_COUNTED, beside)
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def report(rows: Sequence[Row], measured: Mapping[str, Runs], words: str) -> str:
    """Write the report; `words` are its place and time."""
    return "\n\n".join((words, bounds_table(rows, measured), figures_table(rows, measured)))


def put_between(text: str, told: str) -> str:
    """Return the text with the part between the two marks replaced. Raise ValueError without the marks."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"found no {BEGIN} with {END} after it; put both where the tables are to stand")
    return f"{head}{BEGIN}\n\n{told}\n\n{END}{tail}"
