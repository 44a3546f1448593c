"""Growth, drawn: one PNG with a panel for each row about growth."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import process
from bench.table import KERNEL, LANGGRAPH, OURS, Options, Program, kernel, langgraph, ours

FILE = Path(__file__).parent / "plots" / "growth.png"
STEP_BYTES = 1_000
# A rival's line has the same colour in every panel.
BY_WORKER, BY_PLANNER = f"{OURS}, worker", f"{OURS}, planner"
COLOURS = {OURS: "tab:blue", BY_WORKER: "tab:blue", BY_PLANNER: "tab:cyan", LANGGRAPH: "tab:orange", KERNEL: "tab:gray"}


@dataclass(frozen=True)
class Panel:
    """`lines` return the program to measure at a size. `bound` is drawn beside them: the wanted maximum.

    `logarithmic` axes are named "x" and "y"; any other upright axis begins at zero.
    """

    title: str
    across: str
    up: str
    figure: str
    sizes: Sequence[int]
    lines: Mapping[str, Callable[[int], Program]]
    bound: Callable[[int], float] | None = None
    logarithmic: str = ""


def _growth(of: str, near: int, plans: int) -> Callable[[int], Program]:
    return lambda size: ours("growth", of=of, near=near, far=size, plans=plans)


PANELS = (
    Panel(
        "Steps before it in the plan",
        "steps",
        "CPU ms of a step",
        "far_cpu_ms",
        (20, 60, 120, 200, 300),
        {OURS: _growth("steps", 20, 3)},
    ),
    Panel(
        "Events in the log",
        "events",
        "CPU ms of a step",
        "far_cpu_ms",
        (1_000, 10_000, 30_000, 100_000),
        {OURS: _growth("log", 10, 10)},
        logarithmic="x",
    ),
    Panel(
        "Events that agents take",
        "events",
        "CPU ms of a step",
        "far_cpu_ms",
        (10, 50, 200, 700, 2_000),
        {OURS: _growth("registry", 10, 10)},
        logarithmic="x",
    ),
    Panel(
        "Fan-out and join, durable",
        "parts",
        "ms",
        "ms",
        (10, 50, 100, 200),
        {
            BY_WORKER: lambda size: ours("fan_out", by="worker", width=size, times=4),
            BY_PLANNER: lambda size: ours("fan_out", by="planner", width=size, times=4),
            LANGGRAPH: lambda size: langgraph("fan_out", width=size, times=4),
            KERNEL: lambda size: kernel(requests=size * 4, in_flight=size, per=size),
        },
    ),
    Panel(
        "A plan of 1 kB steps on disk",
        "steps",
        "kB",
        "disk_kb",
        (25, 50, 100, 150, 200),
        {
            OURS: lambda size: ours("storage", steps=size, step_bytes=STEP_BYTES),
            LANGGRAPH: lambda size: langgraph("storage", steps=size, step_bytes=STEP_BYTES),
        },
        bound=lambda size: 6 * size * STEP_BYTES / 1024,
        logarithmic="y",
    ),
    Panel(
        "Requests a second, durable",
        "in flight",
        "a second",
        "per_s",
        (1, 4, 16, 64),
        {
            OURS: lambda size: ours("requests", requests=300 + 50 * size, in_flight=size),
            KERNEL: lambda size: kernel(requests=300 + 50 * size, in_flight=size),
        },
        logarithmic="x",
    ),
)
TINY: Options = {"plans": 1, "times": 1, "requests": 8, "near": 2}


def draw(*, only_ours: bool, tiny: bool) -> None:
    """Measure every panel at every size once, and draw them. Raise SystemExit without a library to draw."""
    try:
        library: Any = import_module("matplotlib")
        library.use("Agg")
        pyplot: Any = import_module("matplotlib.pyplot")
    except ImportError as error:
        raise SystemExit(
            'plots need matplotlib: make bench ARGS="--plots" sets it up, as does --group bench'
        ) from error
    figure, places = pyplot.subplots(2, 3, figsize=(15, 8.5), constrained_layout=True)
    for panel, place in zip(PANELS, places.flat, strict=True):
        _draw(panel, place, only_ours=only_ours, tiny=tiny)
    FILE.parent.mkdir(exist_ok=True)
    figure.savefig(FILE, dpi=110)
    print(FILE.relative_to(process.ROOT))


def _draw(panel: Panel, place: Any, *, only_ours: bool, tiny: bool) -> None:
    sizes = panel.sizes[:2] if tiny else panel.sizes
    for who, program in panel.lines.items():
        if only_ours and program(0).rival:
            continue
        print(f"{panel.title}: {who}", file=sys.stderr)
        values = [process.run(program(size), TINY if tiny else {})[panel.figure] for size in sizes]
        place.plot(sizes, values, marker="o", label=who, color=COLOURS[who])
    if panel.bound:
        place.plot(sizes, [panel.bound(size) for size in sizes], linestyle="--", color="tab:red", label="at most")
    place.set(title=panel.title, xlabel=panel.across, ylabel=panel.up)
    if "x" in panel.logarithmic:
        place.set_xscale("log")
    if "y" in panel.logarithmic:
        place.set_yscale("log")
    else:
        place.set_ylim(0, place.get_ylim()[1] * 1.25)
    place.set_xticks(sizes, [f"{size:,}" for size in sizes])
    place.minorticks_off()
    place.grid(visible=True, alpha=0.3)
    place.legend(loc="upper left")
