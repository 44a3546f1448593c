"""A small system for the tests of the probes of resumed work: a file with a lock, and a bug where one is planted.

python resume_subject.py BUG STORE LEDGER VERB RUN ...
"""

import fcntl
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.resume.ledger import DRAFT, PAY, act, tell, wait_for_start


class Subject:
    def __init__(self, bug: str, store: Path, ledger: Path) -> None:
        self._bug = bug
        self._store = store
        self._ledger = ledger

    @contextmanager
    def _run(self, run: str) -> Generator[dict[str, Any]]:
        with self._store.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            runs: dict[str, dict[str, Any]] = json.loads(self._store.read_text()) if self._store.exists() else {}
            yield runs.setdefault(run, {})
            self._store.write_text(json.dumps(runs))

    def _draft(self, run: str, state: dict[str, Any]) -> None:
        if "drafted" not in state or self._bug == "drafts again":
            act(self._ledger, DRAFT, run, f"{run} draft")
            state["drafted"] = True

    def _pay(self, run: str, state: dict[str, Any]) -> None:
        place = self._ledger.parent.name if self._bug == "keys by place" else ""
        act(self._ledger, PAY, run, f"{run} pay {place}", state["amount"])
        state["paid"] = state["amount"]

    def begin(self, run: str) -> dict[str, object]:
        with self._run(run) as state:
            self._draft(run, state)
        return told(state)

    def recover(self, run: str) -> dict[str, object]:
        with self._run(run) as state:
            if self._bug == "forgets the answer":
                state.pop("amount", None)
            elif "amount" in state and "paid" not in state:
                self._pay(run, state)
            else:
                self._draft(run, state)
        return told(state)

    def story(self, run: str) -> dict[str, object]:
        with self._run(run) as state:
            return told(state)

    def answer(self, run: str, amount: str, racers: str) -> dict[str, object]:
        wait_for_start()
        said: list[str] = []
        for _ in range(int(racers)):
            with self._run(run) as state:
                self._draft(run, state)
                is_first = "amount" not in state
                state["amount"] = int(amount) if is_first or self._bug == "takes strays" else state["amount"]
            with self._run(run) as state:
                if "paid" not in state or self._bug in ("pays each", "takes strays"):
                    self._pay(run, state)
            said.append("accepted" if is_first or self._bug == "tells nothing" else "duplicate")
        return {"told": said} | self.story(run)

    def fork(self, run: str, amount: str) -> dict[str, object]:
        with self._run(run) as state:
            known = state["amount"] if self._bug == "forks the answer" else int(amount)
        with self._run(f"{run} fork") as forked:
            forked |= {"drafted": True, "amount": known}
            self._pay(f"{run} fork", forked)
        return told(forked)


def told(state: dict[str, Any]) -> dict[str, object]:
    return {"result": {"paid": state["paid"]}} if "paid" in state else {"waits": "amount"}


if __name__ == "__main__":
    bug_and_store, ledger, verb, *given = sys.argv[1:]
    bug, _, store = bug_and_store.partition(":")
    tell(**getattr(Subject(bug, Path(store), Path(ledger)), verb)(*given))
