"""SIGKILL at a chosen point: the n-th time that a name is passed.

A proof first runs with no target and counts what is passed, then once for every (name, n), restarts, and compares.
Statements of the store are points too: `watch` names them by what they do and to which table.
"""

import json
import os
import re
import signal
import sqlite3
import threading
from collections import Counter
from pathlib import Path

ANY = "any"

_WRITES = re.compile(r"\s*(?:(INSERT)\b[^(]*?\bINTO\s+(\w+)|(UPDATE)\s+(\w+)|(DELETE)\s+FROM\s+(\w+)|(\w+))", re.I)
_BOUNDARIES = ("begin", "commit", "rollback")


class Failpoints:
    """Points that are counted, one of which kills. `target` is 'name:n', n from 1, or 'any:n' for the n-th point of any
    name; without one, nothing is killed. Counts are written to `counts_file`."""

    def __init__(self, target: str = "", counts_file: Path | None = None) -> None:
        name, _, ordinal = target.rpartition(":")
        self._target = (name, int(ordinal)) if name else None
        self._counts_file = counts_file
        self._lock = threading.Lock()
        self.passed: Counter[str] = Counter()

    def hit(self, name: str) -> None:
        with self._lock:
            self.passed[name] += 1
            if self._target in ((name, self.passed[name]), (ANY, self.passed.total())):
                os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, connection: sqlite3.Connection) -> None:
        """Make every writing statement of this connection a point, passed just before it runs."""
        connection.set_trace_callback(self._statement)

    def save_counts(self) -> None:
        if self._counts_file is not None:
            self._counts_file.write_text(json.dumps(self.passed))

    def _statement(self, sql: str) -> None:
        if name := point_of(sql):
            self.hit(name)


def point_of(sql: str) -> str | None:
    """Return the name of a statement, as in 'sql.insert.event' or 'sql.commit'; None for one that writes nothing."""
    found = _WRITES.match(sql)
    if found is None:
        return None
    *writing, other = found.groups()
    words = [word.lower() for word in writing if word]
    if words:
        return ".".join(("sql", *words))
    return f"sql.{other.lower()}" if other.lower() in _BOUNDARIES else None
