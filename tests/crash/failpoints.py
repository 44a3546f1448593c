"""A blow at a chosen point: the n-th pass of a name. The default blow is SIGKILL.

A proof first runs without a target and counts the passes, then once for every (name, n), restarts, and compares.
Statements of the store are points too: `watch` names them by verb and table.
"""

import json
import re
import sqlite3
import threading
from collections import Counter
from pathlib import Path

from blows import Strike, Wire, kill

ANY = "any"

_WRITES = re.compile(r"\s*(?:(INSERT)\b[^(]*?\bINTO\s+(\w+)|(UPDATE)\s+(\w+)|(DELETE)\s+FROM\s+(\w+)|(\w+))", re.I)
_BOUNDARIES = ("begin", "commit", "rollback")


class Failpoints:
    """Counts the passes of points and strikes at one of them. `target` is 'name:n', n from 1, or 'any:n' for the n-th
    point of any name; without one, it never strikes. Counts are written to `counts_file`."""

    def __init__(self, target: str = "", counts_file: Path | None = None, strike: Strike = kill) -> None:
        name, _, ordinal = target.rpartition(":")
        self._target = (name, int(ordinal)) if name else None
        self._counts_file = counts_file
        self._strike = strike
        self._lock = threading.Lock()
        self.passed: Counter[str] = Counter()

    def hit(self, name: str, wire: Wire | None = None) -> None:
        """Pass a point. `wire` is the connection to a server in use here, if any."""
        with self._lock:
            self.passed[name] += 1
            is_here = self._target in ((name, self.passed[name]), (ANY, self.passed.total()))
        if is_here:
            self._strike(wire)

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
    """Return the name of a statement, as in 'sql.insert.event' or 'sql.commit'; None for a statement without writes."""
    found = _WRITES.match(sql)
    if found is None:
        return None
    *writing, other = found.groups()
    words = [word.lower() for word in writing if word]
    if words:
        return ".".join(("sql", *words))
    return f"sql.{other.lower()}" if other.lower() in _BOUNDARIES else None
