"""Stores on a PostgreSQL server, run in the thread of their caller and mortal at any commit; and the audit of their
writes.

No other thread has a say: calls of one turn of the loop form one group, as in the writer's thread.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from postgres_server import OWNER, as_role, shared

from machine.audit import Audit
from soorma_ai.adapters.jobs import Job
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.adapters.postgres.database import Database
from soorma_ai.adapters.postgres.dialect import spell
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.listener import ABSENCE
from soorma_ai.adapters.postgres.readers import _once
from soorma_ai.adapters.postgres.store import PostgresStore
from soorma_ai.adapters.postgres.writer import PostgresWriter
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.domain.limits import STATEMENT_SECONDS
from soorma_ai.kernel.sql import connection as family
from soorma_ai.kernel.sql.parts import SqlStore
from soorma_ai.kernel.sql.tables import leases
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

T = TypeVar("T")

# Readers of the tables also see `body` as a column of tables with a rest.
_AUDITED = """
    CREATE SCHEMA audit;
    CREATE TABLE audit.row_change (
        seq BIGINT GENERATED ALWAYS AS IDENTITY, what TEXT, id TEXT, old_status TEXT, new_status TEXT,
        old_value TEXT, new_value TEXT
    );
    CREATE FUNCTION audit.note_plan() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP = 'UPDATE' AND to_jsonb(OLD) - 'place' = to_jsonb(NEW) - 'place' THEN
            RETURN NULL;
        END IF;
        IF TG_OP = 'INSERT' THEN
            INSERT INTO audit.row_change (what, id, new_status, new_value)
            VALUES ('plan', NEW.plan_id, NEW.status, NEW.version);
        ELSIF TG_OP = 'UPDATE' THEN
            INSERT INTO audit.row_change (what, id, old_status, new_status, old_value, new_value)
            VALUES ('plan', NEW.plan_id, OLD.status, NEW.status, OLD.version, NEW.version);
        ELSE
            INSERT INTO audit.row_change (what, id, old_status, new_status, old_value)
            VALUES ('plan', OLD.plan_id, OLD.status, 'deleted', OLD.version);
        END IF;
        RETURN NULL;
    END $$;
    CREATE FUNCTION audit.note_expectation() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO audit.row_change (what, id, old_status, new_status, old_value, new_value)
        VALUES ('expectation', NEW.id, OLD.status, NEW.status, OLD.answer, NEW.answer);
        RETURN NULL;
    END $$;
    CREATE TRIGGER audited AFTER INSERT OR UPDATE OR DELETE ON plan
        FOR EACH ROW EXECUTE FUNCTION audit.note_plan();
    CREATE TRIGGER audited AFTER UPDATE ON expectation FOR EACH ROW EXECUTE FUNCTION audit.note_expectation();
    CREATE VIEW audit.event AS SELECT event.*, event.body FROM event;
    CREATE VIEW audit.plan AS SELECT plan.*, plan.body FROM plan;
    CREATE VIEW audit.step AS SELECT step.*, step.body FROM step;
    CREATE VIEW audit.expectation AS SELECT expectation.*, expectation.body FROM expectation;
    CREATE VIEW audit.journal AS SELECT journal.*, journal.body FROM journal;
"""
_OF_OTHERS = "SELECT DISTINCT holder FROM inbox WHERE state = 'leased' AND holder > 0 AND holder != ?"
_holders = count(1)


class ServerAudit(Audit):
    def __init__(self, url: str) -> None:
        self._db = _as_owner(url, "audit, soorma")

    def rows(self, query: str, *values: Any) -> list[Any]:
        return self._db.execute(spell(query).encode(), values or None).fetchall()

    def damage(self) -> list[str]:
        """Report no damage: a server looks after its files by itself."""
        return []

    def close(self) -> None:
        self._db.close()


class OneThreadConnection(Connection):
    """Calls back in the thread of the loop."""

    def wait_for_loop(self, call: Callable[[], object]) -> None:
        call()

    def _tell(self, call: Callable[[], None]) -> None:
        call()

    def _ask(self, question: Callable[[], bool]) -> bool:
        return question()


class Turns:
    """Works in a turn of the loop, instead of a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, context: Context) -> None:
        self._loop = loop
        self._context = context

    def do(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        def turn() -> None:
            work()
            done()

        self._loop.call_soon(turn, context=self._context)

    def stop(self) -> None: ...


class MortalWriter(PostgresWriter):
    """Once dead, stores and answers nothing. See `stores.OneThreadDatabase`."""

    is_dead = False
    commits_left: int | None = None
    keeps_last = False

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._helper.stop()
        self._helper: Any = Turns(self._loop, self._context)

    def die(self) -> None:
        self.is_dead = True
        self.connection.close()

    def _write(self, group: list[Job[Any]]) -> None:
        if not self.is_dead:
            super()._write(group)

    def _commit(self, group: list[Job[Any]], *, wrote: bool, apart: bool) -> StoreUnavailable | None:
        if self.commits_left == 0 and not self.keeps_last:
            self.die()
            return None
        fault = super()._commit(group, wrote=wrote, apart=apart)
        if self.commits_left == 0:
            self.die()
        elif self.commits_left is not None:
            self.commits_left -= 1
        return fault

    def _settle(self, group: list[Job[Any]]) -> None:
        if not self.is_dead:
            super()._settle(group)


class OneThreadServerDatabase(Database):
    """A database without a listening thread, since there is one process. It counts as missed twice at the opening of
    the next one, so its leases are voided then."""

    mortal: MortalWriter

    def __init__(self, url: str) -> None:
        super().__init__(url, ALL_FEATURES, read_only=False, absence=ABSENCE, statement_timeout=STATEMENT_SECONDS)

    async def open(self, tidy: Callable[[family.Connection], None]) -> None:
        loop = asyncio.get_running_loop()
        connection, self._reader = (OneThreadConnection(self._url, loop) for _ in range(2))
        connection.holder, connection.features, connection.keeps_plans = next(_holders), ALL_FEATURES, True
        limit = StatementLimit(STATEMENT_SECONDS)
        self._writer = self.mortal = MortalWriter(connection, limit, self._hooks_of(connection))
        await self.mortal.do(tidy)
        await self.write(lambda db: leases.void(db, [row[0] for row in db.execute(_OF_OTHERS, (db.holder,))]))

    async def close(self) -> None:
        if not self.mortal.is_dead:
            await self.write(lambda db: leases.void(db, [db.holder]))
            await self.mortal.close()
        self._reader.close()

    async def read(
        self,
        query: Callable[[family.Reader], T],
        acting: TenantScope = HOUSE,
        *,
        is_single: bool = False,
        follows: bool = False,
    ) -> T:
        await asyncio.sleep(0)  # like a change of threads
        if self.mortal.is_dead:
            await asyncio.get_running_loop().create_future()
        return _once(self._reader, query, acting)


class OneThreadServerStore(PostgresStore):
    database: Any

    def __init__(self, url: str) -> None:
        SqlStore.__init__(self, OneThreadServerDatabase(url))

    @classmethod
    def make_home(cls, path: Path) -> str:
        """Return the URL of an empty store with an audit. The path is unused: there is one store at a time."""
        url = _audited_url()
        shared().make_empty(url)
        with _as_owner(url, "audit") as db:
            db.execute("DELETE FROM row_change")
        return url

    @classmethod
    def audit_of(cls, home: str) -> Audit:
        return ServerAudit(home)

    @property
    def is_dead(self) -> bool:
        return self.database.mortal.is_dead

    def die_after(self, commits: int, *, keeps_last: bool) -> None:
        self.database.mortal.commits_left, self.database.mortal.keeps_last = commits, keeps_last

    def spare(self) -> None:
        self.database.mortal.commits_left = None

    def die(self) -> None:
        self.database.mortal.die()


@cache
def _audited_url() -> str:
    url = shared().database()
    with _as_owner(url, "soorma") as db:
        db.execute(_AUDITED)
    return url


def _as_owner(url: str, path: str) -> psycopg.Connection:
    options = f"-c search_path={path.replace(' ', '')}"
    return psycopg.connect(as_role(url, OWNER), autocommit=True, options=options)
