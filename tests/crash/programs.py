"""The programs that are put under the proof.

Another one needs a file that calls `life.live` with its story, and an entry here: what it must come to, and points
that it must pass. Whatever it does outside goes through `life.outside`, under its idempotency keys.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from outcome import End
from trial import Program

HERE = Path(__file__).parent


def _orders(count: int) -> Callable[[End], Iterator[str]]:
    """Every order ends completed, with one reservation and one payment, after a wait that expired."""

    def expect(end: End) -> Iterator[str]:
        if end["integrity"] != ["ok"]:
            yield "the file is damaged"
            return
        plans = [json.loads(row) for row in end["plans"]]
        if [(plan["status"], plan["result"]["paid"]) for plan in plans] != [("completed", True)] * count:
            yield f"plans: {plans}"
        effects = sorted(json.loads(row)[1] for row in end["effects"])
        if effects != ["charge"] * count + ["reserve"] * count:
            yield f"effects: {effects}"
        expired = sum(json.loads(row)["kind"] == "expired" for row in end["steps"])
        if expired != count:
            yield f"{expired} expired waits"
        yield from (f"{name}: {end[name]}" for name in ("dead letters", "not handled", "not sent") if end[name])

    return expect


_POINTS = frozenset(
    {
        "submit.before",
        "model.told",
        "reserve.told",
        "charge.told",
        "answer.after",
        "sql.begin",
        "sql.commit",
        "sql.insert.inbox",
        "sql.insert.journal",
        "sql.update.plan",
        "sql.delete.outbox",
        "sql.delete.timer",
    }
)

ORDER = Program("one order", HERE / "order_flow.py", _orders(1), _POINTS)
ORDERS = Program("three orders", HERE / "order_flow.py", _orders(3), _POINTS, {"orders": 3}, sampled=True)
PROGRAMS = {program.name: program for program in (ORDER, ORDERS)}

KILLING = Program("an event that kills", HERE / "killing_event.py", lambda end: ())
