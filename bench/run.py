"""Measure the costs of the platform, beside rivals with the same work.

    make bench                                  all rows, ours and the rivals', in rounds
    make bench ARGS="--ours --rounds 1"         without the rivals, with smaller sizes except for parked plans
    make bench ARGS="--rows step,parked"        some rows

Each row is measured in rounds. Every program of the row runs once in each, so all of them meet the same minutes of the
machine. It prints Markdown; `bench/README.md` explains it.
"""

import argparse
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench import process
from bench.measure import Figures
from bench.report import put_between, report
from bench.table import ROWS, Options, Row

README = Path(__file__).parent / "README.md"
SYNCS = 200
FULL: Options = {}


def measure(
    row: Row, rounds: int, sizes: Options, *, only_ours: bool, traces: bool
) -> tuple[dict[str, list[Figures]], list[str]]:
    """Return the figures of each program by round, and the failures. A failed program is not tried again."""
    programs = {who: one for who, one in row.programs.items() if not (only_ours and one.rival)}
    runs: dict[str, list[Figures]] = {who: [] for who in programs}
    faults: list[str] = []
    for round in range(rounds):
        for who, program in [*programs.items()]:
            say(f"{row.name}: {who}, round {round + 1} of {rounds}")
            try:
                runs[who].append(process.run(program, sizes))
            except process.ProgramFailed as fault:
                faults.append(f"{row.name}: {who}: {fault}")
                del programs[who]
    for who, program in programs.items() if row.traced and traces else ():
        counted = process.count_fsyncs(program, sizes)
        runs[who] = [{**figures, **counted} for figures in runs[who]]
    return runs, faults


def smaller(row: Row, sizes: Options) -> str:
    """Return the reduced sizes of a row in words; empty at full size."""
    full = [program.options for program in row.programs.values()]
    others = [f"{name} {value}" for name, value in sizes.items() if any(one.get(name, value) != value for one in full)]
    return f" Not of full size: {row.name} ({', '.join(others)})." if others else ""


def say(words: str) -> None:
    """Print the progress."""
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


def where_and_when(rounds: int) -> str:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"],
        check=False,
        capture_output=True,
        text=True,
        cwd=process.ROOT,
    ).stdout.strip()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg()[1:])
    return (
        f"Measured at commit {commit or 'unknown'}, {time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores, "
        f"{platform.system()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"fdatasync {sync_ms():.2f} ms, load (5 and 15 minutes) {load}. "
        + ("One round." if rounds == 1 else f"Medians of {rounds} rounds, with the least and the most.")
    )


def sync_ms() -> float:
    """Return the median time to sync a page to the disk of the project."""
    process.FOLDERS.mkdir(exist_ok=True)
    took: list[float] = []
    with tempfile.TemporaryFile(dir=process.FOLDERS, buffering=0) as file:
        for _ in range(SYNCS):
            file.write(b"x" * 4096)
            begin = time.perf_counter()
            os.fsync(file.fileno()) if sys.platform == "darwin" else os.fdatasync(file.fileno())
            took.append((time.perf_counter() - begin) * 1000)
    return median(took)


def chosen(names: str) -> list[Row]:
    """Return the rows of these names, separated by commas; all for none. Raise SystemExit."""
    wanted = [name for name in names.split(",") if name]
    known = {row.name: row for row in ROWS}
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"no row {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in wanted] if wanted else [*ROWS]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help=", ".join(row.name for row in ROWS))
    parser.add_argument("--rounds", type=int, help="5; with --ours or --tiny, 1")
    parser.add_argument("--ours", action="store_true", help="no rivals, and no environments for them; implies --short")
    parser.add_argument("--short", action="store_true", help="smaller sizes for slow rows, as with --ours")
    parser.add_argument(
        "--tiny",
        action="store_true",
        help="show that the programs work; the figures say nothing, fsyncs are not counted",
    )
    parser.add_argument("--write", action="store_true", help="put the tables into bench/README.md as well")
    parser.add_argument("--plots", action="store_true", help="draw growth as bench/plots/*.png, and nothing else")
    return parser.parse_args()


def main() -> int:
    given = options()
    if given.plots:
        from bench.plots import draw

        draw(only_ours=given.ours, tiny=given.tiny)
        return 0
    rows, rounds = chosen(given.rows), given.rounds or (1 if given.ours or given.tiny else 5)
    words = where_and_when(rounds)
    measured: dict[str, dict[str, list[Figures]]] = {}
    faults: list[str] = []
    for row in rows:
        sizes = row.tiny if given.tiny else row.short if given.ours or given.short else FULL
        measured[row.name], found = measure(row, rounds, sizes, only_ours=given.ours, traces=not given.tiny)
        faults += found
        words += smaller(row, sizes)
    told = report(rows, measured, words)
    print(told)
    if given.write:
        README.write_text(put_between(README.read_text(), told))
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
