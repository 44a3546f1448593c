"""Burr's program: an application drafts, halts for an amount, and pays. Its own SQLite persister commits each action.

A fork is an application that begins with the state of another at the question.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

os.environ["BURR_DISABLE_TELEMETRY"] = os.environ["HAMILTON_TELEMETRY_DISABLED"] = "true"

from burr.core import ApplicationBuilder, State, action
from burr.core.persistence import SQLitePersister

from bench.resume.ledger import DRAFT, PAY, act, drive, wait_for_start


class Verbs:
    def __init__(self, store: str, ledger: Path) -> None:
        self._store = store
        self._ledger = ledger

    def application(self, run: str, **of_fork: Any) -> Any:
        ledger = self._ledger

        @action(reads=[], writes=["text"])
        def draft(state: State) -> State:
            act(ledger, DRAFT, run, f"{run} draft")
            return state.update(text=f"drafted for {run}")

        @action(reads=[], writes=["amount"])
        def ask(state: State, amount: int) -> State:
            return state.update(amount=amount)

        @action(reads=["amount"], writes=["paid"])
        def pay(state: State) -> State:
            act(ledger, PAY, run, f"{run} pay", state["amount"])
            return state.update(paid=state["amount"])

        shared = {"timeout": 30, "check_same_thread": False}
        persister = SQLitePersister(db_path=self._store, table_name="state", connect_kwargs=shared)
        persister.initialize()
        return (
            ApplicationBuilder()
            .with_actions(draft=draft, ask=ask, pay=pay)
            .with_transitions(("draft", "ask"), ("ask", "pay"))
            .initialize_from(
                persister, resume_at_next_action=True, default_state={}, default_entrypoint="draft", **of_fork
            )
            .with_state_persister(persister)
            .with_identifiers(app_id=run if not of_fork else f"{run} fork", partition_key="runs")
            .build()
        )

    async def begin(self, run: str) -> dict[str, object]:
        application = self.application(run)
        if at(application) != "draft":
            return told(application)
        application.run(halt_before=["ask"])
        return told(application)

    async def recover(self, run: str) -> dict[str, object]:
        application = self.application(run)
        if at(application) == "pay":
            application.run(halt_after=["pay"])
        elif at(application) == "draft":
            application.run(halt_before=["ask"])
        return told(application)

    async def story(self, run: str) -> dict[str, object]:
        return told(self.application(run))

    async def answer(self, run: str, amount: str, racers: str) -> dict[str, object]:
        applications = [self.application(run) for _ in range(int(racers))]
        wait_for_start()

        def resume(application: Any) -> str:
            try:
                application.run(halt_after=["pay"], inputs={"amount": int(amount)})
            except Exception as error:
                return type(error).__name__
            return "accepted"

        said = await asyncio.gather(*(asyncio.to_thread(resume, one) for one in applications))
        return {"told": sorted(said)} | told(self.application(run))

    async def fork(self, run: str, amount: str) -> dict[str, object]:
        origin = {"fork_from_app_id": run, "fork_from_partition_key": "runs", "fork_from_sequence_id": 0}
        application = self.application(run, **origin)
        application.run(halt_after=["pay"], inputs={"amount": int(amount)})
        return told(application)


def at(application: Any) -> str | None:
    following = application.get_next_action()
    return following.name if following else None


def told(application: Any) -> dict[str, object]:
    paid = application.state.get("paid")
    return {"waits": at(application)} if paid is None else {"result": {"paid": paid}}


if __name__ == "__main__":
    store, ledger, *words = sys.argv[1:]
    verbs = Verbs(store, Path(ledger))
    named = {name: getattr(verbs, name) for name in ("begin", "recover", "story", "answer", "fork")}
    asyncio.run(drive(named, words))
