"""The measured work, its programs and its bounds: the table of `python -m bench.run`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Options = Mapping[str, str | int]

OURS, LANGGRAPH, BURR = "ours", "LangGraph", "Burr"
KERNEL, LOOP = "bare kernel", "bare loop"
FSYNCS = "fsyncs"


@dataclass(frozen=True)
class Program:
    """A module to run with these options; `rival` names its environment."""

    module: str
    options: Options = field(default_factory=dict[str, str | int])
    rival: str | None = None


@dataclass(frozen=True)
class Bound:
    """`figure` of `who` is at most `limit` (at least, for a floor), or its ratio to the figure of `of` is. `aim` is the
    wanted value."""

    words: str
    figure: str
    limit: float
    of: str = ""
    aim: float | None = None
    who: str = OURS
    kind: Literal["at most", "at least"] = "at most"


@dataclass(frozen=True)
class Row:
    """`tiny` are options of a run only to test the programs, `short` of a quick run. `traced`: its fsyncs are
    counted."""

    name: str
    work: str
    programs: Mapping[str, Program]
    bounds: tuple[Bound, ...]
    tiny: Options
    traced: bool = False
    short: Options = field(default_factory=dict[str, str | int])


def langgraph(work: str, **options: str | int) -> Program:
    return Program("bench.rivals.drive_langgraph", {"work": work, **options}, "langgraph")


def burr(work: str, **options: str | int) -> Program:
    return Program("bench.rivals.drive_burr", {"work": work, **options}, "burr")


def ours(module: str, **options: str | int) -> Program:
    return Program(f"bench.rows.{module}", options)


def kernel(**options: int) -> Program:
    return Program("bench.kernel", options)


def _steps() -> tuple[Row, ...]:
    file = {"kept": "file", "plans": 15, "steps": 20}
    memory, nowhere = {**file, "kept": "memory"}, {**file, "kept": "nowhere"}
    http = {"plans": 10, "steps": 20}
    tiny, short = {"plans": 1, "steps": 2}, {"plans": 4}
    return (
        Row(
            "step",
            "decision and tool call, durable, one after the other",
            {OURS: ours("steps", **file), LANGGRAPH: langgraph("steps", **file), BURR: burr("steps", **file)},
            (
                Bound("time, of LangGraph's", "ms", 0.5, of=LANGGRAPH, aim=0.25),
                Bound("time, of Burr's", "ms", float("inf"), of=BURR, aim=1.0),
                Bound("fsyncs", FSYNCS, 2.3),
            ),
            tiny,
            traced=True,
            short=short,
        ),
        Row(
            "step-memory",
            "the same in memory",
            {
                OURS: ours("steps", **memory),
                LANGGRAPH: langgraph("steps", **nowhere),
                "LangGraph, saver in memory": langgraph("steps", **memory),
                BURR: burr("steps", **nowhere),
            },
            (Bound("time, of LangGraph's", "ms", 1.5, of=LANGGRAPH, aim=1.0),),
            tiny,
            short=short,
        ),
        Row(
            "step-http",
            "the same, durable, a model on loopback decides",
            {
                OURS: ours("over_http", **http),
                LOOP: Program("bench.loop", {"by": "httpx", **http}),
                "bare loop, our adapter": Program("bench.loop", {"by": "adapter", **http}),
            },
            (Bound("time, of the bare loop's", "ms", 1.25, of=LOOP),),
            tiny,
            traced=True,
            short=short,
        ),
    )


def _requests() -> tuple[Row, ...]:
    many, one = {"requests": 6_000, "in_flight": 64}, {"requests": 600, "in_flight": 1}
    return (
        Row(
            "requests-64",
            "request, tool, reply, durable, 64 in flight",
            {OURS: ours("requests", **many), KERNEL: kernel(**many)},
            (Bound("a second, of the bare kernel's", "per_s", 0.45, of=KERNEL, kind="at least"),),
            {"requests": 128},
            traced=True,
            short={"requests": 1_500},
        ),
        Row(
            "requests-1",
            "the same, one in flight",
            {OURS: ours("requests", **one), KERNEL: kernel(**one)},
            (Bound("fsyncs", FSYNCS, 3.1),),
            {"requests": 4},
            traced=True,
            short={"requests": 200},
        ),
    )


def _many() -> tuple[Row, ...]:
    plans = {"plans": 1_000, "steps": 5, "in_flight": 32}
    return (
        Row(
            "plans",
            "1,000 plans of 5 steps, durable, 32 in flight",
            {OURS: ours("many_plans", **plans), LANGGRAPH: langgraph("many_plans", **plans)},
            (Bound("time, of LangGraph's", "ms", 0.2, of=LANGGRAPH),),
            {"plans": 4, "steps": 2},
            traced=True,
            short={"plans": 60},
        ),
        *(_fan_out(by) for by in ("worker", "planner")),
    )


def _fan_out(by: str) -> Row:
    wide, wider = {"width": 100, "times": 10}, {"width": 200, "times": 6}
    twice = f"{OURS}, 200"
    return Row(
        f"fan-{by}",
        f"fan-out of 100 and join, durable, by a {by}",
        {
            OURS: ours("fan_out", by=by, **wide),
            LANGGRAPH: langgraph("fan_out", **wide),
            KERNEL: kernel(requests=2_000, in_flight=100, per=100),
            twice: ours("fan_out", by=by, **wider),
        },
        (
            Bound("time, of LangGraph's", "ms", 0.5, of=LANGGRAPH),
            Bound("time, of 100 requests of the bare kernel", "ms", 2.5, of=KERNEL),
            Bound("time of 200, of that of 100", "ms", 2.2, of=OURS, who=twice),
        ),
        {"width": 3, "times": 1, "requests": 100},
        traced=True,
        short={"times": 2, "requests": 1_000},
    )


def _kept() -> tuple[Row, ...]:
    parked = {"plans": 10_000, "resumed": 200}
    long, longer = {"steps": 200, "step_bytes": 1_000}, {"steps": 400, "step_bytes": 1_000}
    twice = f"{OURS}, 400 steps"
    return (
        Row(
            "parked",
            "10,000 plans that wait for an approval",
            {
                OURS: ours("parked", in_flight=32, **parked),
                LANGGRAPH: langgraph("parked", **parked),
                BURR: burr("parked", **parked),
            },
            (
                Bound("kB on disk, each", "disk_kb", 6, aim=3),
                Bound("kB of memory, each", "memory_kb", 1),
                Bound("ms from a yes to the plan's result, median", "resume_ms", 7),
                Bound("% of a core while idle", "idle_percent", 1),
                Bound("seconds to start among them", "start_s", 0.2),
            ),
            {"plans": 8, "resumed": 2},
        ),
        Row(
            "storage",
            "200 steps of 1 kB in one plan",
            {OURS: ours("storage", **long), LANGGRAPH: langgraph("storage", **long), twice: ours("storage", **longer)},
            (
                Bound("on disk, of the payload", "times_payload", 6, aim=3.5),
                Bound("of 400 on disk, of 200", "disk_kb", 2.1, of=OURS, who=twice),
            ),
            {"steps": 4},
        ),
    )


def _growth() -> tuple[Row, ...]:
    grown = {
        "steps": ("CPU of a step, by the steps before it: 300 to 20", 20, 300, 3),
        "log": ("CPU of a step, by the events in the log: 100,000 to 1,000", 1_000, 100_000, 15),
        "registry": ("CPU of a step, by the events that agents take: 2,000 to 10", 10, 2_000, 15),
    }
    return tuple(
        Row(
            f"growth-{of}",
            words,
            {OURS: ours("growth", of=of, near=near, far=far, plans=plans)},
            (Bound("of what it was", "growth", 1.2),),
            {"near": 2, "far": 6, "plans": 1},
            short={"plans": min(plans, 5), "far": min(far, 20_000)} if of != "steps" else {"plans": 1},
        )
        for of, (words, near, far, plans) in grown.items()
    )


def _traces() -> tuple[Row, ...]:
    work = {"plans": 15, "steps": 20}
    api, sdk = f"{OURS}, API alone", f"{OURS}, traced"
    return (
        Row(
            "traces",
            "decision and tool call in memory, traced by OpenTelemetry",
            {OURS: ours("traces", mode="off", **work), api: ours("traces", mode="api", **work)}
            | {sdk: ours("traces", mode="sdk", **work)},
            (
                Bound("calls with the API alone, of those without", "calls", 1.03, of=OURS, who=api),
                Bound("spans a step", "spans", 5, who=sdk),
                Bound("us of CPU a span", "span_us", 60, who=sdk),
            ),
            {"plans": 1, "steps": 2},
            short={"plans": 4},
        ),
    )


ROWS = (*_steps(), *_traces(), *_requests(), *_many(), *_kept(), *_growth())
