"""Planted bugs of the stores' and the bus' adapters. The soak must catch each of them.

A bug is a function to replace a part of an adapter, in each process of the storm.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from nats.aio.msg import Msg

from soorma_ai.adapters.nats.bus import NatsBus, Receive
from soorma_ai.adapters.postgres import writer
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.adapters.postgres.locks import LOCK
from soorma_ai.kernel.sql import connection as family

# Seconds to widen a race between two steps.
SLOWLY = 0.03
# Long enough for the last blow, which kills everything at once, to hit work in hand.
LONG = 1.0


@dataclass(frozen=True)
class Bug:
    """`shows` is a part of the expected fault: another fault does not count as caught. `bus` is the needed bus."""

    plant: Callable[[], None]
    shows: str
    bus: str = "none"


def ack_before_the_row() -> None:
    """Acknowledge a message before it is in the inbox."""

    async def hand_over(self: NatsBus, messages: Sequence[Msg], receive: Receive) -> None:
        events = [event for message in messages if (event := self._read(message)) is not None]
        for message in messages:
            await message.ack()
        await self._connection.flush()
        await asyncio.sleep(LONG)
        with suppress(Exception):
            await receive(events)

    NatsBus._receive_batch = hand_over


def claim_without_the_lock() -> None:
    """Select rows for a claim without a lock, and take them a moment later."""
    execute = Connection.execute

    def slowly(self: Connection, sql: str, parameters: family.Parameters = (), /) -> family.Rows:
        if sql.startswith("UPDATE inbox SET state = 'leased'"):
            time.sleep(SLOWLY)
        return execute(self, sql, parameters)

    Connection.taking = ""
    Connection.execute = slowly


def cursor_by_sequence_alone() -> None:
    """Assign places in the log before the lock is taken, so a lower place may be committed later."""
    begun = tuple(statement for statement in writer._BEGIN if statement != LOCK)
    assert len(begun) < len(writer._BEGIN)
    writer._BEGIN = begun
    commit = writer.PostgresWriter._commit

    def slowly(self: writer.PostgresWriter, *arguments: object, wrote: bool) -> object:
        if wrote and time.monotonic_ns() // 1000 % 3 == 0:
            time.sleep(SLOWLY)
        return commit(self, *arguments, wrote=wrote)

    writer.PostgresWriter._commit = slowly


BUGS = {
    "ack before the row": Bug(ack_before_the_row, "were acknowledged before they arrived", "nats"),
    "claim without the lock": Bug(claim_without_the_lock, "under one lease"),
    "cursor by sequence alone": Bug(cursor_by_sequence_alone, "who followed the log was led past"),
}
