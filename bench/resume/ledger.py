"""Effects outside of the systems, as lines of a file, and deaths of their process. Programs of rivals import this too.

An effect has a key, for an outside service to know it again: the best one of the system for a step.
"""

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

DRAFT, PAY = "draft", "pay"
POINTS = ("draft:before", "draft:after", "pay:before", "pay:after")
# Where the process dies, once: a point, and a file that is there after it.
DEATH, DIED = "DIES_AT", "died"


def act(ledger: Path, effect: str, run: str, key: str, amount: int = 0) -> None:
    """Have an effect, with a death before or after it."""
    _die_at(ledger, f"{effect}:before")
    line = json.dumps({"effect": effect, "run": run, "key": key, "amount": amount})
    with ledger.open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())
    _die_at(ledger, f"{effect}:after")


def read(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def _die_at(ledger: Path, point: str) -> None:
    mark = ledger.with_name(DIED)
    if os.environ.get(DEATH) == point and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def wait_for_start() -> None:
    """Print `ready`, and wait for a line."""
    print("ready", flush=True)
    sys.stdin.readline()


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


async def drive(verbs: dict[str, Callable[..., Awaitable[dict[str, object]]]], words: Sequence[str]) -> None:
    """Do a verb of the command line with its words, and tell its facts: the `result` of an ended run, `waits` of one
    with an open question, `told` for each answer, and `refused` for a missing verb."""
    verb, *given = words
    tell(**await verbs[verb](*given))
