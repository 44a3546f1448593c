"""Statements that are prepared on a connection, and sent as text with others in one message."""

import re
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from hashlib import blake2b

import psycopg
from psycopg import errors

from soorma_ai.adapters.postgres.dialect import number
from soorma_ai.adapters.postgres.faults import Interrupted
from soorma_ai.adapters.postgres.literals import TYPES, literal
from soorma_ai.kernel.sql.connection import Parameters

# Statements prepared on a connection; further ones are sent as they are.
MOST_PREPARED = 512
# Uses of a statement after which it is prepared: each plan takes memory of the server.
USES = 3
MOST_COUNTED = 4_096
# Statements of other kinds cannot be prepared.
_PREPARED = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")


class PreparedStatements:
    """Statements of one connection. Each is prepared once for parameters of the same types. The driver prepares none:
    it would let the server forget all of them at a rollback."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._uses = Counter[str]()

    def forget(self) -> None:
        self._names.clear()

    def spell(self, raw: psycopg.Connection, sql: str, parameters: Parameters) -> str | None:
        """Return the text that executes a statement with these parameters; None where that is impossible. Raise
        psycopg.Error."""
        if _PREPARED.match(sql) is None or not self._is_used(sql):
            return None
        names = number(sql)[1]
        values = [parameters[name] for name in names] if isinstance(parameters, Mapping) else parameters
        spelled: list[str] = []
        for value in values:
            text = literal(value)
            if text is None:
                return None
            spelled.append(text)
        name = self.prepare(raw, sql, ", ".join(TYPES.get(type(value), "text") for value in values))
        if name is None:
            return None
        return f"EXECUTE {name} ({', '.join(spelled)})" if spelled else f"EXECUTE {name}"

    def _is_used(self, sql: str) -> bool:
        """Count a use, and tell whether there are enough."""
        uses = self._uses[sql] + 1
        if uses <= USES:
            if len(self._uses) >= MOST_COUNTED:
                self._uses.clear()
            self._uses[sql] = uses
        return uses > USES

    def prepare(self, raw: psycopg.Connection, sql: str, types: str = "") -> str | None:
        """Return the name of a prepared statement, None where there are too many. Raise psycopg.Error."""
        name = self._names.get((sql, types))
        if name is None and len(self._names) < MOST_PREPARED:
            # The same on all connections, so that messages of one can be sent by another.
            name = f"soorma_{blake2b(f'{types} {sql}'.encode(), digest_size=8).hexdigest()}"
            raw.execute(f"PREPARE {name} {f'({types})' if types else ''} AS {number(sql)[0]}".encode())
            self._names[sql, types] = name
        return name

    @contextmanager
    def expected(self) -> Generator[None]:
        """Raise Interrupted where a prepared statement is gone, as behind a pool between here and the server."""
        try:
            yield
        except errors.InvalidSqlStatementName as error:
            self._names.clear()
            raise Interrupted(f"a prepared statement is gone: {error}") from error
