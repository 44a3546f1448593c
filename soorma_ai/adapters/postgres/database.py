"""Access to a database that several processes may share: one connection that writes, some that see what is committed,
one that listens to what other processes write."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from soorma_ai.adapters.postgres import guard
from soorma_ai.adapters.postgres.connection import Connection, connect
from soorma_ai.adapters.postgres.faults import in_our_words, mapped
from soorma_ai.adapters.postgres.listener import Listener
from soorma_ai.adapters.postgres.migrations import prepare
from soorma_ai.adapters.postgres.readers import Readers
from soorma_ai.adapters.postgres.writer import Writer
from soorma_ai.adapters.sql import connection as family
from soorma_ai.adapters.sql import database
from soorma_ai.adapters.sql.acting import HOUSE, Acting
from soorma_ai.domain.expectations import Arrival
from soorma_ai.errors import ConfigError, LocalProtocolError, SoormaError, StoreUnavailable
from soorma_ai.ports import Hands

T = TypeVar("T")

_LOG = logging.getLogger("soorma_ai.store")


class Database(database.Database):
    """The database of a URL. `read_only` looks at it, and makes and recovers nothing."""

    guards = True

    def __init__(self, url: str, *, read_only: bool) -> None:
        super().__init__(shares=True)
        self._url = url
        self._read_only = read_only
        self._writer: Writer | None = None
        self._readers: Readers | None = None
        self._listener: Listener | None = None
        # What the registry was when routes were put together, and whether this process has changed it since.
        self._registry: int | None = None
        self._routes_were = 0
        self._changed = 0

    @property
    def writer(self) -> Writer:
        if self._read_only:
            raise LocalProtocolError("this store is open read-only; open it for writing")
        if self._writer is None:
            raise StoreUnavailable("the store is not open")
        return self._writer

    def deliver(self, hands: Hands, lease: timedelta) -> None:
        super().deliver(hands, lease)
        self.writer.connection.hands, self.writer.connection.lease = hands, lease

    async def open(self, recover: Callable[[family.Connection], None]) -> None:
        if self._readers is not None:
            return
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._prepare)
        self._readers = Readers(self._url)
        if self._read_only:
            return
        self._writer = Writer(
            Connection(self._url, loop),
            begun=self._begun,
            ending=self._ending,
            on_commit=self.on_commit,
            forget=self._forget,
        )
        listener = self._listener = Listener(self._url, loop, self._told)
        try:
            with in_our_words():
                is_alone = await asyncio.to_thread(listener.begin)
                if is_alone:
                    await self._writer.do(recover)
                await asyncio.to_thread(listener.stay, was_alone=is_alone)
        except SoormaError:
            await self.close()
            raise

    async def close(self) -> None:
        writer, readers, listener = self._writer, self._readers, self._listener
        self._writer = self._readers = self._listener = None
        if writer is not None and listener is not None:
            listener.end()
            with suppress(SoormaError):
                await writer.do(lambda db: db.execute(listener.notification()).fetchone())
        if writer is not None:
            await writer.close()
        if readers is not None:
            await readers.close()
        if listener is not None:
            await asyncio.to_thread(listener.stop)

    async def transact(
        self,
        operation: Callable[[family.Connection], T],
        ended: Callable[[T, bool], None],
        acting: Acting,
        *,
        is_long: bool,
    ) -> T:
        return await self.writer.do(operation, ended, acting)

    async def read(self, query: Callable[[family.Reader], T], acting: Acting = HOUSE) -> T:
        if self._readers is None:
            raise StoreUnavailable("the store is not open")
        return await self._readers.read(query, acting)

    async def read_later(self, query: Callable[[family.Reader], T], acting: Acting) -> Callable[[], T]:
        """A server is asked now, since it is waited for."""
        found = await self.read(query, acting)
        return lambda: found

    def _prepare(self) -> None:
        _check(self._url)
        try:
            with connect(self._url) as made:
                prepare(made, may_make=not self._read_only)
                if why := guard.why_open(made):
                    _LOG.warning(why)
        except psycopg.ProgrammingError as error:
            raise ConfigError(
                f"the database cannot be used ({error}): look at the URL, and at the role's grants, which "
                "SELECT soorma.admit('ROLE') gives"
            ) from error
        except psycopg.Error as error:
            raise mapped(error) from error

    def _forget(self) -> None:
        """Keep nothing that was derived from what is undone now."""
        self.routes.forget()
        if self._writer is not None:
            self._writer.connection.parts.clear()

    def _begun(self, db: Connection, registry: int) -> None:
        """Forget routes that another process has changed, and parts of prompts, which one may have removed."""
        db.parts.clear()
        if registry != self._registry:
            self.routes.forget()
            self._registry = registry
        self._routes_were, self._changed = self.routes.epoch, db.changes

    def _ending(self, db: Connection) -> str:
        """Tell other processes what this transaction has changed; return the last statement of it."""
        if self.routes.epoch != self._routes_were:
            (self._registry,) = db.execute("UPDATE meta SET registry = registry + 1 RETURNING registry").fetchone()
        if db.changes == self._changed or self._listener is None:
            return ""
        return self._listener.notification()

    def _told(self, agents: frozenset[str], is_leaving: bool) -> None:
        """Wake who waits here for what another process has written."""
        if self.on_commit is not None:
            self.on_commit(is_leaving)
        if self.on_arrival is not None and agents:
            self.on_arrival(Arrival(agents))


def why_open(url: str) -> str:
    """Return why the rows of this database are kept from nobody who connects by this URL; nothing where they are. Raise
    StoreUnavailable, and ConfigError."""
    with in_our_words(), connect(url) as made:
        return guard.why_open(made)


def _check(url: str) -> None:
    """Raise ConfigError for a URL that is none. What is wrong is not told: it may be a part of its password."""
    try:
        ports = str(conninfo_to_dict(url).get("port", "")).split(",")
    except psycopg.ProgrammingError:
        ports = [url]
    if not all(port == "" or port.isdigit() for port in ports):
        raise ConfigError(
            "the URL is none of PostgreSQL: give postgresql://USER:PASSWORD@HOST:PORT/DATABASE, percent-encode what "
            "has a meaning there, and give only options that libpq knows"
        ) from None
