"""LangGraph's program: a graph drafts, interrupts for an amount, and pays; each node is saved before the next begins.

A fork is a resume from a checkpoint made by `update_state` of that of the question, in the same thread.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from bench.resume.ledger import DRAFT, PAY, act, drive, wait_for_start

DURABLE = {"durability": "sync"}


class Refund(TypedDict, total=False):
    run: str
    text: str
    amount: int
    paid: int


class Verbs:
    def __init__(self, store: str, ledger: Path) -> None:
        self._store = store
        self._ledger = ledger

    def graph(self, saver: Any) -> Any:
        async def draft(state: Refund) -> Refund:
            act(self._ledger, DRAFT, state["run"], f"{state['run']} draft")
            return {"text": f"drafted for {state['run']}"}

        async def ask(state: Refund) -> Refund:
            return {"amount": interrupt("How much?")}

        async def pay(state: Refund) -> Refund:
            act(self._ledger, PAY, state["run"], f"{state['run']} pay", state["amount"])
            return {"paid": state["amount"]}

        made = StateGraph(Refund)
        for name, node in (("draft", draft), ("ask", ask), ("pay", pay)):
            made.add_node(name, node)
        for first, second in ((START, "draft"), ("draft", "ask"), ("ask", "pay"), ("pay", END)):
            made.add_edge(first, second)
        return made.compile(checkpointer=saver)

    async def begin(self, run: str) -> dict[str, object]:
        async with AsyncSqliteSaver.from_conn_string(self._store) as saver:
            return await go_on(self.graph(saver), run, {"run": run})

    async def recover(self, run: str) -> dict[str, object]:
        async with AsyncSqliteSaver.from_conn_string(self._store) as saver:
            graph = self.graph(saver)
            state = await graph.aget_state(config(run))
            return await go_on(graph, run, None if state.values or state.next else {"run": run})

    async def story(self, run: str) -> dict[str, object]:
        async with AsyncSqliteSaver.from_conn_string(self._store) as saver:
            return told(await self.graph(saver).aget_state(config(run)))

    async def answer(self, run: str, amount: str, racers: str) -> dict[str, object]:
        async with AsyncSqliteSaver.from_conn_string(self._store) as saver:
            graph = self.graph(saver)
            await graph.aget_state(config(run))
            wait_for_start()

            async def resume() -> str:
                try:
                    await graph.ainvoke(Command(resume=int(amount)), config(run), **DURABLE)
                except Exception as error:
                    return type(error).__name__
                return "accepted"

            said = await asyncio.gather(*(resume() for _ in range(int(racers))))
            return {"told": sorted(said)} | told(await graph.aget_state(config(run)))

    async def fork(self, run: str, amount: str) -> dict[str, object]:
        async with AsyncSqliteSaver.from_conn_string(self._store) as saver:
            graph = self.graph(saver)
            asked = [one async for one in graph.aget_state_history(config(run)) if one.next == ("ask",)]
            forked = await graph.aupdate_state(asked[-1].config, None, as_node="draft")
            await graph.ainvoke(None, forked, **DURABLE)
            ended = await graph.ainvoke(Command(resume=int(amount)), config(run), **DURABLE)
            return {"result": {"paid": ended.get("paid")}}


async def go_on(graph: Any, run: str, given: Any) -> dict[str, object]:
    await graph.ainvoke(given, config(run), **DURABLE)
    return told(await graph.aget_state(config(run)))


def told(state: Any) -> dict[str, object]:
    return {"waits": list(state.next)} if state.next else {"result": {"paid": state.values.get("paid")}}


def config(run: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": run}}


if __name__ == "__main__":
    store, ledger, *words = sys.argv[1:]
    verbs = Verbs(store, Path(ledger))
    named = {name: getattr(verbs, name) for name in ("begin", "recover", "story", "answer", "fork")}
    asyncio.run(drive(named, words))
