"""DBOS's program: a workflow drafts in a step, receives an amount, and pays in a step.

Answers are sent by its client, which recovers nothing, beside the process that runs the workflow.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSClient, SetWorkflowID

from bench.resume.ledger import DRAFT, PAY, act, tell, wait_for_start

PATIENCE = 30.0
# Seconds after which a recovered workflow that has not ended waits for its answer.
SETTLED = 5.0
LEDGER = Path()


@DBOS.step()
def draft(run: str) -> str:
    act(LEDGER, DRAFT, run, f"{DBOS.workflow_id} {DBOS.step_id}")
    return f"drafted for {run}"


@DBOS.step()
def pay(run: str, amount: int) -> int:
    act(LEDGER, PAY, run, f"{DBOS.workflow_id} {DBOS.step_id}", amount)
    return amount


@DBOS.workflow()
def refund(run: str) -> dict[str, int]:
    draft(run)
    amount = DBOS.recv("amount", timeout_seconds=3600)
    return {"paid": pay(run, amount)}


class Verbs:
    def __init__(self, url: str) -> None:
        self._url = url

    def launch(self) -> None:
        settings = {
            "name": "refunds",
            "system_database_url": self._url,
            "run_admin_server": False,
            "log_level": "ERROR",
        }
        DBOS(config=settings)
        DBOS.launch()

    def begin(self, run: str) -> dict[str, object]:
        self.launch()
        with SetWorkflowID(run):
            handle = DBOS.start_workflow(refund, run)
        return self._until(handle)

    def recover(self, run: str) -> dict[str, object]:
        self.launch()
        return self._until(DBOS.retrieve_workflow(run), at_least=SETTLED)

    def story(self, run: str) -> dict[str, object]:
        client = DBOSClient(system_database_url=self._url)
        handle = client.retrieve_workflow(run)
        is_over = handle.get_status().status == "SUCCESS"
        return {"result": handle.get_result()} if is_over else {"waits": run}

    def answer(self, run: str, amount: str, racers: str) -> dict[str, object]:
        client = DBOSClient(system_database_url=self._url)
        wait_for_start()

        def send() -> str:
            try:
                client.send(run, int(amount), "amount")
            except Exception as error:
                return type(error).__name__
            return "accepted"

        with ThreadPoolExecutor(int(racers)) as pool:
            said = [one.result() for one in [pool.submit(send) for _ in range(int(racers))]]
        self.launch()
        return {"told": sorted(said)} | self._until(DBOS.retrieve_workflow(run), at_least=PATIENCE)

    def fork(self, run: str, amount: str) -> dict[str, object]:
        self.launch()
        handle = DBOS.fork_workflow(run, 2)
        DBOS.send(handle.workflow_id, int(amount), "amount")
        return {"result": handle.get_result()}

    def _until(self, handle: Any, *, at_least: float = 0.0) -> dict[str, object]:
        """Wait for the end, or, after `at_least` so many seconds, for the question."""
        begun = time.monotonic()
        until = begun + PATIENCE
        while time.monotonic() < until:
            if handle.get_status().status == "SUCCESS":
                return {"result": handle.get_result()}
            done = [step["function_name"] for step in DBOS.list_workflow_steps(handle.workflow_id)]
            if draft.__qualname__ in done and time.monotonic() - begun > at_least:
                return {"waits": done}
            time.sleep(0.05)
        raise TimeoutError(f"{handle.workflow_id} is where it was after {PATIENCE} s")


if __name__ == "__main__":
    store, ledger, verb, *given = sys.argv[1:]
    LEDGER = Path(ledger)
    tell(**getattr(Verbs(store), verb)(*given))
    # It has threads that wait for the question, and its store is left as by a killed process.
    os._exit(0)
