"""LangGraph does the same work: a graph of two nodes for a step, `Send` for a fan-out, `interrupt` for a person.

Its checkpoints are written before the next node begins (`durability="sync"`), into SQLite opened by its own saver, with
a write-ahead log and synchronous=FULL.
"""

import asyncio
import operator
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from bench.measure import Figures, Lap, anonymous_kb, disk_kb, main


class Count(TypedDict):
    step: int
    steps: int
    action: str
    results: Annotated[list[dict[str, Any]], operator.add]


class Sum(TypedDict):
    parts: Annotated[list[int], operator.add]
    total: int


@asynccontextmanager
async def saver(folder: Path, kept: str) -> AsyncGenerator[Any]:
    """Yield the saver of checkpoints: None for `kept` "nowhere"."""
    if kept == "file":
        async with AsyncSqliteSaver.from_conn_string(str(folder / "graph.db")) as saving:
            yield saving
    else:
        yield InMemorySaver() if kept == "memory" else None


def counting(saving: Any, text_bytes: int = 0) -> Any:
    async def decide(state: Count) -> dict[str, Any]:
        return {"action": "double" if state["step"] < state["steps"] else "complete"}

    async def double(state: Count) -> dict[str, Any]:
        number = state["step"] + 1
        answer = {"n": number, "v": 2 * number, "text": f"{number:04}" * (text_bytes // 4)}
        return {"step": number, "results": [answer]}

    graph = StateGraph(Count)
    graph.add_node("decide", decide)
    graph.add_node("double", double)
    graph.add_edge(START, "decide")
    graph.add_conditional_edges("decide", lambda state: "double" if state["action"] == "double" else END)
    graph.add_edge("double", "decide")
    return graph.compile(checkpointer=saving)


async def count(graph: Any, saving: Any, mark: object, steps: int) -> None:
    goal = {"step": 0, "steps": steps, "action": "", "results": []}
    found = await graph.ainvoke(goal, config(mark), **durability(saving))
    assert len(found["results"]) == steps


def config(mark: object) -> dict[str, Any]:
    return {"recursion_limit": 10_000, "configurable": {"thread_id": str(mark)}}


def durability(saving: Any) -> dict[str, Any]:
    return {} if saving is None else {"durability": "sync"}


async def steps(folder: Path, *, kept: str, plans: int, steps: int) -> Figures:
    async with saver(folder, kept) as saving:
        graph = counting(saving)
        await count(graph, saving, "warm", steps)
        with Lap() as lap:
            for number in range(plans):
                await count(graph, saving, number, steps)
    return lap.per(plans * steps)


async def many_plans(folder: Path, *, plans: int, steps: int, in_flight: int) -> Figures:
    numbers = iter(range(plans))
    async with saver(folder, "file") as saving:
        graph = counting(saving)
        await count(graph, saving, "warm", steps)

        async def keep_on() -> None:
            for number in numbers:
                await count(graph, saving, number, steps)

        with Lap() as lap:
            await asyncio.gather(*(keep_on() for _ in range(in_flight)))
    return {"total_s": lap.wall, **lap.per(plans)}


async def storage(folder: Path, *, steps: int, step_bytes: int) -> Figures:
    async with saver(folder, "file") as saving:
        graph = counting(saving, step_bytes)
        with Lap() as lap:
            await count(graph, saving, "long", steps)
    kept = disk_kb(folder)
    return {"disk_kb": kept, "times_payload": kept * 1024 / (steps * step_bytes), **lap.per(steps)}


async def fan_out(folder: Path, *, width: int, times: int) -> Figures:
    async def begin(state: Sum) -> dict[str, Any]:
        return {}

    async def double(state: dict[str, int]) -> dict[str, Any]:
        return {"parts": [2 * state["n"]]}

    async def join(state: Sum) -> dict[str, Any]:
        return {"total": sum(state["parts"])}

    graph = StateGraph(Sum)
    for name, node in (("begin", begin), ("double", double), ("join", join)):
        graph.add_node(name, node)
    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", lambda _: [Send("double", {"n": n}) for n in range(width)], ["double"])
    graph.add_edge("double", "join")
    graph.add_edge("join", END)
    async with saver(folder, "file") as saving:
        compiled = graph.compile(checkpointer=saving)

        async def once(mark: object) -> None:
            found = await compiled.ainvoke({"parts": [], "total": 0}, config(mark), **durability(saving))
            assert found["total"] == width * (width - 1)

        await once("warm")
        with Lap() as lap:
            for number in range(times):
                await once(number)
    return lap.per(times)


def paying(saving: Any) -> Any:
    async def decide(state: Count) -> dict[str, Any]:
        return {"action": "pay"}

    async def pay(state: Count) -> dict[str, Any]:
        answer = interrupt({"question": "Pay 7?"})
        return {"results": [{"paid": answer}]}

    graph = StateGraph(Count)
    graph.add_node("decide", decide)
    graph.add_node("pay", pay)
    graph.add_edge(START, "decide")
    graph.add_edge("decide", "pay")
    graph.add_edge("pay", END)
    return graph.compile(checkpointer=saving)


async def parked(folder: Path, *, plans: int, resumed: int) -> Figures:
    goal = {"step": 0, "steps": 1, "action": "", "results": []}
    took: list[float] = []
    half_way = anonymous_kb()
    async with saver(folder, "file") as saving:
        graph = paying(saving)
        with Lap() as parking:
            for number in range(plans):
                if number == int(plans * 0.6):
                    half_way = anonymous_kb()
                await graph.ainvoke(goal, config(number), durability="sync")
        whole = anonymous_kb()
        with Lap() as lap:
            for number in range(0, plans, max(1, plans // resumed)):
                begin = time.perf_counter()
                found = await graph.ainvoke(Command(resume="yes"), config(number), durability="sync")
                took.append((time.perf_counter() - begin) * 1000)
                assert found["results"] == [{"paid": "yes"}]
    grown = {} if half_way is None or whole is None else {"memory_kb": (whole - half_way) / (plans * 0.4)}
    found = {"disk_kb": disk_kb(folder) / plans, **grown, "park_ms": parking.wall * 1000 / plans}
    return {**lap.per(len(took)), **found, "resume_ms": median(took)}


WORK = {"steps": steps, "many_plans": many_plans, "storage": storage, "fan_out": fan_out, "parked": parked}


async def measure(folder: Path, *, work: str, **options: Any) -> Figures:
    return await WORK[work](folder, **options)


if __name__ == "__main__":
    main(measure)
