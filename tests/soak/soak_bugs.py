"""Planted bugs: what the stores' and the bus' adapters would be if they were wrong. The soak must catch each of them.

A bug is a function that puts something else in the place of a part of them, in each process of the storm.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from nats.aio.msg import Msg

from soorma_ai.adapters.nats.bus import NatsBus, Receive
from soorma_ai.adapters.postgres import writer
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.adapters.postgres.database import Database
from soorma_ai.adapters.postgres.faults import in_our_words
from soorma_ai.adapters.sql import connection as family
from soorma_ai.adapters.sql.parts import SqlQueue
from soorma_ai.adapters.sql.tables import inbox
from soorma_ai.ports import Delivery

# Seconds that a step takes during which another process may come between.
SLOWLY = 0.03
# So long that the last blow, which kills everything at once, finds something in hand.
LONG = 1.0


@dataclass(frozen=True)
class Bug:
    """`shows` is what must be said of it: a bug is not caught by something else that breaks. `bus` is what it needs."""

    plant: Callable[[], None]
    shows: str
    bus: str = "none"


def ack_before_the_row() -> None:
    """What a bus brings is acknowledged before it is in the inbox."""

    async def hand_over(self: NatsBus, messages: Sequence[Msg], receive: Receive) -> None:
        events = [event for message in messages if (event := self._read(message)) is not None]
        for message in messages:
            await message.ack()
        await self._connection.flush()
        await asyncio.sleep(LONG)
        with suppress(Exception):
            await receive(events)

    NatsBus._hand_over = hand_over


class SlowToTake(Connection):
    """Looks, and takes a moment later what it has seen."""

    def execute(self, sql: str, parameters: family.Parameters = (), /) -> family.Rows:
        if sql.startswith("UPDATE inbox SET state = 'leased'"):
            time.sleep(SLOWLY)
        return super().execute(sql, parameters)


def claim_without_the_lock() -> None:
    """A claim looks and takes by a connection of its own, without the lock of all that write."""

    def taken(db: SlowToTake, *arguments: object) -> list[Delivery]:
        with closing(db), in_our_words():
            db.begin("BEGIN")
            found = inbox.claim(db, *arguments)
            db.raw.execute("COMMIT")
            return found

    async def claim(
        self: SqlQueue, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        assert isinstance(self.database, Database)
        db = SlowToTake(self.database._url, asyncio.get_running_loop())
        return await asyncio.to_thread(taken, db, agent, now, lease, limit, held)

    SqlQueue.claim = claim


def cursor_by_sequence_alone() -> None:
    """Places in the log are given before the lock is had, so that who was given a lower one may commit later. Claims
    have the lock, as ever."""
    begun = tuple(statement for statement in writer._BEGIN if statement != writer.LOCK)
    assert len(begun) < len(writer._BEGIN)
    writer._BEGIN = begun
    take, commit = inbox._take, writer.Writer._commit

    def locked(db: Connection, *arguments: object) -> list[Delivery]:
        db.execute(writer.LOCK)
        return take(db, *arguments)

    def slowly(self: writer.Writer, *arguments: object, wrote: bool) -> object:
        if wrote and time.monotonic_ns() // 1000 % 3 == 0:
            time.sleep(SLOWLY)
        return commit(self, *arguments, wrote=wrote)

    inbox._take = locked
    writer.Writer._commit = slowly


BUGS = {
    "ack before the row": Bug(ack_before_the_row, "were acknowledged before they arrived", "nats"),
    "claim without the lock": Bug(claim_without_the_lock, "under one lease"),
    "cursor by sequence alone": Bug(cursor_by_sequence_alone, "who followed the log was led past"),
}
