"""Burr does the same work: an application of two actions for a step, stored by its own SQLite persister or not at all.

The persister commits after each action, with SQLite's own settings: a rollback journal and synchronous=FULL.
"""

import asyncio
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

os.environ["BURR_DISABLE_TELEMETRY"] = os.environ["HAMILTON_TELEMETRY_DISABLED"] = "true"

from burr.core import ApplicationBuilder, State, action, default, when
from burr.core.persistence import SQLitePersister

from bench.measure import Figures, Lap, anonymous_kb, disk_kb, main


@action(reads=["step", "steps"], writes=["action"])
def decide(state: State) -> State:
    return state.update(action="double" if state["step"] < state["steps"] else "complete")


@action(reads=["step"], writes=["step", "results"])
def double(state: State) -> State:
    number = state["step"] + 1
    return state.update(step=number).append(results={"n": number, "v": 2 * number})


@action(reads=["results"], writes=["total"])
def complete(state: State) -> State:
    return state.update(total=len(state["results"]))


@action(reads=[], writes=["results"])
def pay(state: State, answer: str) -> State:
    return state.append(results={"paid": answer})


def persister(folder: Path) -> SQLitePersister:
    kept = SQLitePersister.from_values(str(folder / "burr.db"), table_name="state")
    kept.initialize()
    return kept


def counting(kept: SQLitePersister | None, mark: object, steps: int) -> Any:
    builder = (
        ApplicationBuilder()
        .with_actions(decide=decide, double=double, complete=complete)
        .with_transitions(("decide", "double", when(action="double")), ("decide", "complete", default))
        .with_transitions(("double", "decide"))
        .with_identifiers(app_id=str(mark))
        .with_state(step=0, steps=steps, action="", results=[])
        .with_entrypoint("decide")
    )
    return (builder.with_state_persister(kept) if kept else builder).build()


def steps(folder: Path, *, kept: str, plans: int, steps: int) -> Figures:
    keeping = persister(folder) if kept == "file" else None

    def count(mark: object) -> None:
        _, _, state = counting(keeping, mark, steps).run(halt_after=["complete"])
        assert state["total"] == steps

    count("warm")
    with Lap() as lap:
        for number in range(plans):
            count(number)
    return lap.per(plans * steps)


def parked(folder: Path, *, plans: int, resumed: int) -> Figures:
    kept = persister(folder)
    took: list[float] = []
    half_way = anonymous_kb()

    def paying(mark: int) -> Any:
        builder = ApplicationBuilder().with_actions(decide=decide, pay=pay).with_transitions(("decide", "pay"))
        return builder.with_state_persister(kept).with_identifiers(app_id=str(mark))

    with Lap() as parking:
        for number in range(plans):
            if number == int(plans * 0.6):
                half_way = anonymous_kb()
            begun = paying(number).with_state(step=0, steps=1, results=[]).with_entrypoint("decide").build()
            begun.run(halt_before=["pay"], inputs={"answer": ""})
    whole = anonymous_kb()
    with Lap() as lap:
        for number in range(0, plans, max(1, plans // resumed)):
            begin = time.perf_counter()
            again = paying(number).initialize_from(
                kept, resume_at_next_action=True, default_state={}, default_entrypoint="decide"
            )
            _, _, state = again.build().run(halt_after=["pay"], inputs={"answer": "yes"})
            took.append((time.perf_counter() - begin) * 1000)
            assert state["results"] == [{"paid": "yes"}]
    kept.cleanup()
    grown = {} if half_way is None or whole is None else {"memory_kb": (whole - half_way) / (plans * 0.4)}
    found = {"disk_kb": disk_kb(folder) / plans, **grown, "park_ms": parking.wall * 1000 / plans}
    return {**lap.per(len(took)), **found, "resume_ms": median(took)}


async def measure(folder: Path, *, work: str, **options: Any) -> Figures:
    return await asyncio.to_thread({"steps": steps, "parked": parked}[work], folder, **options)


if __name__ == "__main__":
    main(measure)
