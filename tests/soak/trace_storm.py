"""Traces under kills: a process with plans, questions and a worker is killed again and again, and its spans are judged.

make traces                                               10,000 plans, 300 kills
make traces ARGS="--plans 2000 --kills 60 --seed 7"       a smaller one
make traces ARGS="--planted"                              each planted bug must be caught
"""

import argparse
import json
import logging
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from trace_life import BUGS, GOALS, IN_FLIGHT, POINTS, Order, live

from soorma_ai.features.otel import names
from soorma_ai.features.otel.trace_context import derived_span_id

# Commits of a plan, at least in the mean of the three kinds: some handlings share one.
HANDLINGS = 3
FAULTS_SHOWN = 12
Place = tuple[int, int]


@dataclass(frozen=True)
class Span:
    name: str
    place: Place
    parent: Place | None
    links: tuple[Place, ...]
    attributes: dict[str, Any]

    @property
    def event_id(self) -> str:
        return str(self.attributes.get(names.MESSAGE_ID, ""))

    @property
    def is_process(self) -> bool:
        return self.name.startswith(f"{names.PROCESS} ")


@dataclass(frozen=True)
class Rows:
    """The store at the end: committed handlings by span id, with their events; those of each plan; and closed
    questions, each with the event of its end."""

    committed: dict[int, str]
    plans: Mapping[str, set[int]]
    questions: dict[str, str]


@dataclass
class Judgement:
    """Counts, and the faults among them."""

    spans: int = 0
    lost: int = 0
    orphans: int = 0
    links: int = 0
    kills: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])

    def must(self, holds: object, fault: str) -> None:
        if not holds:
            self.faults.append(fault)


def storm(folder: Path, plans: int, kills: int, seed: int, bug: str = "") -> Judgement:
    """Live and die `kills` times, then live to the end, and judge the spans."""
    chance, found = random.Random(seed), Judgement()
    mean = max(1, plans * HANDLINGS // max(1, kills))
    for life in range(kills):
        point = POINTS[life % len(POINTS)]
        most = max(1, mean // (3 if point == "in a handler" else 1))
        if _live(Order(folder, life, plans, point, chance.randint(1, 2 * most), bug)):
            break
        found.kills[point] += 1
    else:
        found.must(_live(Order(folder, kills, plans, bug=bug)), "the last life did not end by itself")
    spans = read_spans(folder)
    judge(found, spans, read_rows(folder / "traced.db"), _spans_of_last_life(folder))
    still, most_open = json.loads((folder / "open").read_text())
    found.must((still, most_open) == (0, 1), f"{still} spans are open at the end, {most_open} were at once")
    return found


def _live(order: Order) -> bool:
    """Run a life in a fork; tell whether it ended by itself, and did not kill itself."""
    pid = os.fork()
    if not pid:
        try:
            live(order)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if os.WEXITSTATUS(status):
        raise RuntimeError(f"life {order.life} failed; its reason is above")
    return True


def read_spans(folder: Path) -> list[Span]:
    return [span for file in folder.glob("*.spans") for span in _spans_of(file)]


def _spans_of_last_life(folder: Path) -> list[Span]:
    return _spans_of(max(folder.glob("*.spans"), key=lambda file: int(file.stem)))


def _spans_of(file: Path) -> list[Span]:
    told = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        Span(
            one["name"],
            (one["trace"], one["id"]),
            tuple(one["parent"]) if one["parent"] else None,
            tuple((trace, span) for trace, span in one["links"]),
            one["attributes"],
        )
        for one in told
    ]


def read_rows(store: Path) -> Rows:
    with closing(sqlite3.connect(store)) as db:
        done = db.execute(
            "SELECT i.owner, e.id, i.agent, i.redriven, i.fence FROM inbox i JOIN event e ON e.seq = i.event_seq"
            " WHERE i.state = 'done' OR i.state = 'dead'"
        )
        committed, of_owner = dict[int, str](), defaultdict[str, set[int]](set)
        for owner, event, agent, redriven, fence in done:
            span_id = derived_span_id(event, agent, str(redriven), str(fence))
            committed[span_id] = event
            of_owner[owner].add(span_id)
        plans = {plan_id: of_owner[plan_id] for (plan_id,) in db.execute("SELECT plan_id FROM plan")}
        asked = "SELECT id, met_by FROM expectation WHERE kind IN ('gate', 'wait') AND status = 'met'"
        return Rows(committed, plans, dict(db.execute(asked)))


def judge(found: Judgement, spans: list[Span], rows: Rows, last: list[Span]) -> None:
    """Judge the spans of all lives by the rows of the store. A span is lost if its handling committed and its process
    was killed before it told it."""
    known = {span.place[1] for span in spans}
    lost = {span_id: event for span_id, event in rows.committed.items() if span_id not in known}
    found.spans, found.lost = len(spans), len(lost)
    found.must(
        len(lost) <= found.kills.total() * IN_FLIGHT, f"{len(lost)} spans are lost by {found.kills.total()} kills"
    )
    found.must(
        all(span.place[1] in rows.committed for span in spans if span.is_process and _is_done(span)),
        "a span tells of a handling without a commit",
    )
    twice = [span_id for span_id, count in Counter(span.place[1] for span in spans).items() if count > 1]
    found.must(not twice, f"{len(twice)} span ids come twice")
    _judge_parents(found, spans, known, set(lost))
    of_last = {span.event_id for span in last}
    found.must(not of_last & set(lost.values()), "a span of the last life is lost")
    _judge_questions(found, spans, rows, known | set(lost), set(lost.values()))
    _judge_plans(found, spans, rows, set(lost))


def _is_done(span: Span) -> bool:
    return span.attributes[names.OUTCOME] == "done"


def _judge_parents(found: Judgement, spans: list[Span], known: set[int], lost: set[int]) -> None:
    for span in spans:
        if span.parent is None:
            is_begin = span.name.split(" ")[-1] in GOALS or span.links
            found.must(is_begin, f"{span.name} has neither a parent nor a link")
        elif span.parent[1] not in known:
            found.orphans += 1
            found.must(span.parent[1] in lost, f"the parent of {span.name} is missing, and its process lived")


def _judge_questions(found: Judgement, spans: list[Span], rows: Rows, handled: set[int], lost_events: set[str]) -> None:
    """A link leads over every wait, from the handling of its end to a handling that committed."""
    links = {span.event_id: span.links for span in spans if span.is_process and _is_done(span)}
    for question, event_id in rows.questions.items():
        if event_id in lost_events:
            continue
        over = links.get(event_id, ())
        found.links += len(over)
        found.must(len(over) == 1 and over[0][1] in handled, f"no link leads over the wait {question}")


def _judge_plans(found: Judgement, spans: list[Span], rows: Rows, lost: set[int]) -> None:
    """Each plan is found by one attribute, unless all its handlings are lost; its summary is missing only after a
    kill."""
    of_plans = Counter(span.attributes.get(names.PLAN) for span in spans)
    ended = {span.attributes[names.PLAN] for span in spans if span.name.startswith(names.INVOKE_AGENT)}
    for plan, handlings in rows.plans.items():
        is_lost = bool(handlings) and handlings <= lost
        found.must(of_plans[plan] > 0 or is_lost, "a plan is not found by its attribute")
    found.must(of_plans[None] == 0, f"{of_plans[None]} spans have no plan")
    missing = len(set(rows.plans) - ended)
    found.must(missing <= found.lost + found.kills.total(), f"{missing} plans have no summary")


def run(plans: int, kills: int, seed: int, bug: str = "") -> Judgement:
    folder = Path(tempfile.mkdtemp(prefix="soorma-traces-"))
    start = monotonic()
    try:
        found = storm(folder, plans, kills, seed, bug)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    killed = ", ".join(f"{count} {point}" for point, count in sorted(found.kills.items()))
    print(f"seed {seed}: {plans} plans, {found.kills.total()} kills ({killed}), {monotonic() - start:.0f} s")
    print(f"{found.spans} spans, {found.lost} lost with their process, {found.orphans} children of these, ", end="")
    print(f"{found.links} links over waits, {len(found.faults)} faults")
    for fault, count in Counter(found.faults).most_common(FAULTS_SHOWN):
        print(f"{count} x {fault}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--planted", action="store_true", help="plant every bug, each of which must be caught")
    given = parser.parse_args()
    logging.basicConfig(level=logging.CRITICAL)
    if not given.planted:
        return int(bool(run(given.plans, given.kills, given.seed).faults))
    missed = [bug for bug in BUGS if not run(min(given.plans, 60), min(given.kills, 8), given.seed, bug).faults]
    print(f"traces: {len(BUGS) - len(missed)}/{len(BUGS)} planted bugs caught", *missed, sep=", not caught: ")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
