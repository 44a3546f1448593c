"""The programs under proof.

Another one needs a file that calls `life.live` with its story, and an entry here: its expected end, and points it must
pass. Its outside effects go through `life.outside`, under its idempotency keys.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import failpoint_layer
import io_error_layer
import syscall_layer
from outcome import End
from trial import Program

HERE = Path(__file__).parent

Expect = Callable[[End], Iterator[str]]


def _comes_to(results: Sequence[object], effects: Mapping[str, int]) -> Expect:
    """Expect plans completed with these results, these counts of effects, and an empty queue."""

    def expect(end: End) -> Iterator[str]:
        if end["integrity"] != ["ok"]:
            yield "the file is damaged"
            return
        plans = [json.loads(row) for row in end["plans"] if json.loads(row).get("parent_plan_id") is None]
        found = [plan["result"] for plan in plans if plan["status"] == "completed"]
        if len(plans) != len(results) or any(result not in found for result in results):
            yield f"plans: {plans}"
        done = Counter(json.loads(row)[-2] for row in end["effects"])
        if done != Counter(effects):
            yield f"effects: {done}"
        yield from (f"{name}: {end[name]}" for name in ("dead letters", "not handled", "not sent") if end[name])

    return expect


def _orders(count: int) -> Expect:
    """Expect every order completed, with one reservation and one payment, after a wait with a timeout."""
    paid = [{"amount": n, "paid": True} for n in range(1, count + 1)]
    done = _comes_to(paid, {"reserve": count, "charge": count})

    def expect(end: End) -> Iterator[str]:
        yield from done(end)
        expired = sum(json.loads(row)["kind"] == "expired" for row in end.get("steps", ()))
        if expired != count:
            yield f"{expired} expired waits"

    return expect


_POINTS = frozenset(
    {"submit.before", "sql.begin", "sql.commit", "sql.insert.inbox", "sql.update.plan", "sql.delete.timer"}
)
_MODEL = frozenset({"model.told", "sql.insert.journal"})
_PEOPLE = frozenset({"answer.after"})
_TASKS = frozenset({"sql.insert.task", "sql.insert.sub_task"})
_OF_ORDERS = _POINTS | _MODEL | _PEOPLE | {"reserve.told", "charge.told"}

ORDER = Program("one order", HERE / "order_flow.py", _orders(1), _OF_ORDERS)
BY_A_BROKER = Program(
    "one order by a broker",
    HERE / "order_flow.py",
    _orders(1),
    _OF_ORDERS | {"sql.delete.outbox"},
    {"broker": True},
    sampled={failpoint_layer.LAYER: 60, syscall_layer.LAYER: 16, io_error_layer.LAYER: 8},
)
ORDERS = Program(
    "three orders",
    HERE / "order_flow.py",
    _orders(3),
    _OF_ORDERS,
    {"orders": 3},
    sampled={failpoint_layer.LAYER: 40, syscall_layer.LAYER: 40, io_error_layer.LAYER: 40},
)

AWAY = Program(
    "an order whose model is away at first",
    HERE / "order_flow.py",
    _orders(1),
    _OF_ORDERS | {"model.away"},
    {"away": True},
    sampled={failpoint_layer.LAYER: 40, syscall_layer.LAYER: 16, io_error_layer.LAYER: 8},
)

SHIPPED = {"status": "shipped", "warehouse": "north", "receipt": "receipt-A1", "carrier": "northbound", "days": 4}
CANCELLED = {"status": "cancelled", "why": "the card has expired"}
FOUND = ["1 book(s), first of all 'Fast and loud: a car and its makers'", "1 book(s), first of all 'A year of storms'"]
REPORT = {
    "title": "A bicycle with a motor for tours",
    "advice": "Take one with at least 700 Wh, and with brakes of four pistons.",
    "reasons": [
        {"claim": "With 1,000 m of climbing, 400 Wh are gone after 40 km.", "source": "charge-test"},
        {
            "claim": "700 Wh came across the Alps; brakes with four pistons stay cool with luggage.",
            "source": "alps-diary",
        },
    ],
}


# Their writes equal those of the orders, so a few of the slow positions are enough.
_SAMPLED = {syscall_layer.LAYER: 16, io_error_layer.LAYER: 8}


def _example(
    name: str, options: Mapping[str, Any], expect: Expect, points: Set[str], *, any_order: bool = False
) -> Program:
    return Program(name, HERE / "example_flow.py", expect, _POINTS | points, options, _SAMPLED, any_order)


# Each is a shipped order, and an order with a failed payment.
DELEGATION = _example(
    "delegation one after the other",
    {"example": "03_delegation", "parallel": False},
    _comes_to(
        [SHIPPED, CANCELLED],
        {
            "inventory.reserve.requested": 2,
            "payment.charge.requested": 1,
            "shipment.book.requested": 1,
            "inventory.release.requested": 1,
        },
    ),
    _TASKS,
)
DELEGATION_AT_ONCE = _example(
    "delegation all at once",
    {"example": "03_delegation", "parallel": True},
    _comes_to(
        [SHIPPED, CANCELLED],
        {
            "inventory.reserve.requested": 2,
            "payment.charge.requested": 1,
            "shipment.book.requested": 2,
            "inventory.release.requested": 1,
            "shipment.cancel.requested": 1,
        },
    ),
    _TASKS,
    any_order=True,
)
STATE_MACHINE = _example(
    "state machine",
    {"example": "04_state_machine"},
    _comes_to(FOUND, {"web.search.requested": 3, "content.analyze.requested": 2}),
    _PEOPLE | {"sql.insert.plan_value"},
)
RESEARCH_ADVISOR = _example(
    "research advisor",
    {"example": "05_research_advisor"},
    _comes_to([REPORT], {"archive.search.requested": 1, "archive.read.requested": 2}),
    _MODEL | _PEOPLE,
    any_order=True,
)


def _journey(report: Mapping[str, object]) -> Expect:
    """Expect a journey with two returns and four checkpoints, each asked once, and no thought told twice."""
    done = _comes_to([report], {"archive.search.requested": 4, "archive.read.requested": 4})

    def expect(end: End) -> Iterator[str]:
        yield from done(end)
        told = [json.loads(row) for row in end.get("events", ())]
        back = sum(event["type"] == "phase.changed" and event["data"]["is_backward"] for event in told)
        asked = sum(event["type"] == "phase.checkpoint" for event in told)
        thoughts = [json.dumps([e["data"], e.get("causationid")]) for e in told if e["type"] == "agent.thinking"]
        if (back, asked, len(thoughts) - len(set(thoughts))) != (2, 4, 0):
            yield f"{back} ways back, {asked} checkpoints, {len(thoughts)} thoughts: {thoughts}"

    return expect


LIFE_OF_OWLS = {
    "topic": "How does the barn owl live?",
    "answers": [
        {
            "question": "What does the barn owl eat?",
            "answer": "Less in winter.",
            "quotes": [
                {
                    "source_id": "barn-owl-winter",
                    "quote": "In winter the barn owl hunts by day as well, when snow covers moths.",
                }
            ],
        },
        {
            "question": "Where does it nest?",
            "answer": "In old nests.",
            "quotes": [{"source_id": "barn-owl-nests", "quote": "The barn owl nests in old nests."}],
        },
        {
            "question": "What endangers the barn owl most?",
            "answer": "Poison in its prey.",
            "quotes": [
                {
                    "source_id": "barn-owl-dangers",
                    "quote": "The barn owl is endangered by poisoned prey more than by hunters.",
                }
            ],
        },
    ],
    "insights": [
        {"question": "What does it live on?", "insight": "It lives on what is small, and hunger comes with snow."},
        {"question": "Where does it live?", "insight": "It stays where it once was safe."},
        {"question": "What endangers it?", "insight": "What kills its prey kills the owl."},
    ],
    "sources": [
        {"id": "barn-owl-food", "title": "The barn owl: food"},
        {"id": "barn-owl-nests", "title": "The barn owl: nests"},
        {"id": "barn-owl-dangers", "title": "The barn owl: dangers"},
        {"id": "barn-owl-winter", "title": "The barn owl: winter"},
    ],
    "adjacent_questions": [{"question": "Which farms use no poison?", "why": "There the owls could be counted."}],
}
JOURNEY = _example(
    "a journey through phases",
    {"example": "07_research"},
    _journey(LIFE_OF_OWLS),
    _MODEL | _PEOPLE | {"sql.insert.plan_value"},
    any_order=True,
)

FAN_IN = Program(
    "a fan-in by a plan and by a worker",
    HERE / "fan_in_flow.py",
    _comes_to([{"sum": 15}], {"part": 12, "count": 6}),
    _POINTS - {"sql.delete.timer"}
    | _MODEL
    | _TASKS
    | {"count.told", *(f"run.{who}.{when}" for who in ("sums", "clerk") for when in ("before", "after"))},
    sampled=_SAMPLED,
    any_order=True,
)

CIRCLES = Program(
    "circles that are stopped",
    HERE / "circle_flow.py",
    _comes_to([{"stopped": 2}], {"pass": 5, "echo": 24}),
    _POINTS - {"sql.delete.timer"} | _MODEL | _TASKS | {"sql.insert.budget", "pass.told", "echo.told"},
    sampled=_SAMPLED,
)


def _retirement(end: End) -> Iterator[str]:
    """Expect the first answers by the former model, and all others by the one in its place."""
    yield from _comes_to([{"amount": n} for n in range(1, 4)], {"charge": 3})(end)
    asked = Counter(json.loads(row)["model"] for row in end.get("journal", ()))
    if asked != {"old": 3, "new": 3}:
        yield f"answers by model: {asked}"


def _forks(end: End) -> Iterator[str]:
    """Expect the effects of the order and of its acting forks, and no other; a held fork ends at its first request."""
    if end["integrity"] != ["ok"]:
        yield "the file is damaged"
        return
    done = Counter(json.loads(row)[-2] for row in end["effects"])
    if done != Counter({"reserve": 2, "charge": 3}):
        yield f"effects: {done}"
    ends = Counter((one["status"], one.get("failure")) for one in map(json.loads, end["plans"]))
    if ends != Counter({("completed", None): 8, ("failed", "fork_stopped"): 2}):
        yield f"plans: {ends}"
    yield from (f"{name}: {end[name]}" for name in ("dead letters", "not handled", "not sent") if end[name])


FORKS = Program(
    "forks of an order",
    HERE / "fork_flow.py",
    _forks,
    _POINTS - {"submit.before", "sql.delete.timer"} | _PEOPLE | _MODEL | {"fork.before", "fork.after"},
    sampled=_SAMPLED,
)
RETIREMENT = Program(
    "a retired model",
    HERE / "retire_flow.py",
    _retirement,
    _POINTS - {"sql.delete.timer"}
    | _PEOPLE
    | _MODEL
    | {"retire.after", "restore.after", "sql.insert.model_replacement", "sql.delete.model_replacement"},
    sampled=_SAMPLED,
)
SHADOW = Program(
    "a shadow",
    HERE / "retire_flow.py",
    _retirement,
    _POINTS - {"sql.delete.timer"}
    | {
        "shadow.told",
        "sql.insert.shadow",
        "sql.insert.shadow_budget",
        "sql.insert.trial_call",
        "sql.update.trial_call",
    },
    {"shadow": True},
    sampled=_SAMPLED,
)

EXAMPLES = (DELEGATION, DELEGATION_AT_ONCE, STATE_MACHINE, RESEARCH_ADVISOR, JOURNEY)
PROGRAMS = {
    program.name: program
    for program in (ORDER, BY_A_BROKER, ORDERS, AWAY, FAN_IN, CIRCLES, FORKS, RETIREMENT, SHADOW, *EXAMPLES)
}

# Poison candidates rest for minutes.
_IN_A_HURRY = {"hurry": 60}
_TOLD = _IN_A_HURRY | {"replies": [["label.show.requested", "ok"], ["label.print.requested", "spent"]]}
KILLING = Program("an event that kills", HERE / "killing_event.py", lambda end: (), options=_TOLD)
KILLING_IN_A_RUN = Program(
    "a result that kills among others",
    HERE / "fan_in_flow.py",
    lambda end: (),
    options=_IN_A_HURRY | {"kills": 3, "in_a_run": 1},
)
THAT_KILL = (KILLING, KILLING_IN_A_RUN)
