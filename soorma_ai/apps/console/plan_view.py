"""View of a plan, made of its trace: the same for the console and for a file to send."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import cache
from itertools import islice

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.apps.console.rendering import FOLDER, render
from soorma_ai.apps.console.siblings import fold_siblings
from soorma_ai.apps.console.words import LONGEST_JSON, StyledText, describe_line, pretty, preview
from soorma_ai.errors import ConfigError
from soorma_ai.features.human_tasks.pages.facts import Facts, facts_of
from soorma_ai.features.tracking.lines import Line, Thought
from soorma_ai.features.tracking.plan_graph import decisions_of, graph_of_machine, graph_of_plan, place_of
from soorma_ai.features.tracking.timeline import timeline_of
from soorma_ai.features.tracking.trace import Trace
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.states import States, states_of
from soorma_ai.kernel.domain.values import compact
from soorma_ai.surfaces.drawing.svg import draw
from soorma_ai.surfaces.terminal.escapes import printable
from soorma_ai.surfaces.terminal.wording import call_facts, spending

MOST_LINES = 400
MOST_DECISIONS = 100
MOST_BARS = 120
DEEPEST = 7


class LineView(Struct, frozen=True):
    """A line of the story. `place` is the fragment for links to it, `level` its depth."""

    place: str
    level: int
    line: Line
    said: list[StyledText]
    why: list[StyledText]
    preview: str
    data: str


class DecisionView(Struct, frozen=True):
    """An answer of a model with its journal entry. By its `number` its plan knows it; 0 where it is of
    another plan than the page."""

    number: int
    place: str
    line: Line
    thought: Thought
    facts: str
    prompt: str
    offer: str
    shown: Showing | None
    memory: str
    answer: str


def view_of(
    trace: Trace,
    *,
    title: str = "",
    lasted: timedelta | None = None,
    begins: timedelta = timedelta(0),
    decisions_before: int = 0,
) -> Mapping[str, object]:
    """Return the variables of templates about a plan. Of a part of it: how long the whole plan `lasted`, when
    after its beginning the part `begins`, and how many decisions were made before that."""
    folded = fold_siblings(trace.lines, is_part=lasted is not None)
    is_large = folded != trace.lines
    trace = replace(trace, lines=folded)
    lines = list(islice(_tell_lines(trace.lines), MOST_LINES))
    found = decisions_of(trace.lines)
    graph = graph_of_plan(trace)
    machine = states_in(trace)
    numbers: Mapping[object, int] = {
        entry.key: number for number, entry in enumerate(trace.decisions, decisions_before + 1)
    }
    return {
        "trace": trace,
        "title": title or trace.goal_event,
        "is_large": is_large,
        "goal": facts_of(trace.goal_data),
        "goal_json": pretty(trace.goal_data),
        "result": facts_of(trace.result) if isinstance(trace.result, dict) else Facts(is_whole=False),
        "result_json": pretty(trace.result) if trace.result is not None else "",
        "spending": spending(trace.spent, trace.limits),
        "lasted": trace.shares.total if lasted is None else lasted,
        "timeline": timeline_of(_from(begins, trace.lines), trace.shares, MOST_BARS),
        "graph": Markup(draw(graph, f"Causes and effects in plan {trace.plan_id}")),
        "more_nodes": graph.more,
        "machine": _machine(machine, trace) if machine else "",
        "lines": lines,
        "more_lines": len(lines) == MOST_LINES,
        "decisions": [tell_decision(numbers.get(_key(one[1]), 0), *one, trace.shown) for one in found[:MOST_DECISIONS]],
        "more_decisions": max(0, len(found) - MOST_DECISIONS),
    }


def _from(begins: timedelta, lines: Iterable[Line]) -> tuple[Line, ...]:
    """Return lines with their times counted from this moment of the plan on."""
    return tuple(replace(line, time=line.time - begins, lines=_from(begins, line.lines)) for line in lines)


def states_in(trace: Trace) -> States:
    """Return the states of a plan's machine; none where it has none, or one that is of another version."""
    try:
        return states_of({key: value for key, value in trace.machine.items() if isinstance(value, dict)})
    except ConfigError:
        return {}


def report(trace: Trace) -> str:
    """Return one self-contained page about a plan, to be sent."""
    return render("report.html", {**view_of(trace), "style": Markup(style())})


@cache
def style() -> str:
    """Return all of our CSS."""
    return "\n".join((FOLDER / "static" / name).read_text(encoding="utf-8") for name in ("style.css", "plans.css"))


@cache
def graph_style() -> str:
    """Return the part of our CSS that a drawing needs which stands alone."""
    content = (FOLDER / "static" / "plans.css").read_text(encoding="utf-8")
    return content.partition("/* graph */")[2].partition("/* end of graph */")[0]


def _machine(states: States, trace: Trace) -> Markup:
    graph = graph_of_machine(states, trace.current_state, trace.results.keys())
    return Markup(draw(graph, f"The states of plan {trace.plan_id}"))


def _tell_lines(lines: Iterable[Line]) -> Iterable[LineView]:
    ahead = [(line, 0) for line in reversed(list(lines))]
    number = 0
    while ahead:
        line, level = ahead.pop()
        said, why = describe_line(line)
        payload = line.data if isinstance(line.data, dict | list | str) else None
        data = pretty(payload) if payload not in (None, {}) else ""
        yield LineView(place_of(number), min(level, DEEPEST), line, said, why, preview(payload), data)
        number += 1
        ahead += ((below, level + 1) for below in reversed(line.lines))


def _key(line: Line) -> object:
    return line.thought.key if line.thought else None


def tell_decision(number: int, place: str, line: Line, shown: Mapping[str, Showing]) -> DecisionView:
    """Return the view of the line of a decision."""
    thought = line.thought
    if thought is None:
        raise ValueError("a decision is of a thought")
    prompt = f"{thought.prompt_id} version {thought.prompt_version}, hash {thought.prompt_hash[:12]}"
    return DecisionView(
        number=number,
        place=place,
        line=line,
        thought=thought,
        facts=call_facts(thought),
        prompt=prompt,
        offer=thought.offer_digest[:12],
        shown=shown.get(thought.shown),
        memory=compact([*thought.remembered]) if thought.remembered else "",
        answer=pretty(thought.value) if thought.value is not None else printable(thought.raw[:LONGEST_JSON]),
    )
