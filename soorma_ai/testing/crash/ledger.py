"""Ledger of effects outside: the writes of a test's tools, kept in a file beyond the death of their process."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soorma_ai.kernel.runtime.handling.handling import current_handling
from soorma_ai.testing.crash.comparison import EffectBook


@dataclass(frozen=True)
class Entry:
    """Write of a tool. `handler` is its agent and event, empty outside of handlers."""

    name: str
    key: str | None
    data: Mapping[str, Any]
    handler: str = field(compare=False)

    @property
    def text(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.data.items())})"


class Ledger:
    """Stand-in for a service with effects. Like a payment provider it honours a key: the same key again is the same
    effect. A write without a key is an effect of its own each time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, /, *, key: str | None = None, **data: Any) -> None:
        """Record an effect. `data` must be JSON, other values become text."""
        row = {"name": name, "key": key, "data": data, "handler": handler_in_hand()}
        append(self.path, json.dumps(row, default=str))

    @property
    def calls(self) -> list[Entry]:
        """Return all writes, in order."""
        return [Entry(**json.loads(line)) for line in lines_of(self.path)]

    @property
    def effects(self) -> list[Entry]:
        """Return the effects: the first write of each key, and all writes without a key."""
        return [*self.book.effects.values()]

    @property
    def book(self) -> EffectBook[Entry]:
        """Return the writes by name and key."""
        book = EffectBook[Entry]()
        for one in self.calls:
            book.book(None if one.key is None else f"{one.name} {one.key}", one)
        return book


def handler_in_hand() -> str:
    handling = current_handling()
    return f"{handling.agent}: {handling.event.type}" if handling else ""


def append(path: Path, line: str) -> None:
    """Append by one write(2), safe from the death of the process."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line.encode() + b"\n")
    finally:
        os.close(file)


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
