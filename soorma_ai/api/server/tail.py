"""Newest events of the log, read once for all followers."""

import asyncio
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import islice

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.signals import until

MOST_BYTES = 4 * 2**20
_BATCH = 200
_PAUSE = 1.0


class StreamRow(Struct, frozen=True):
    """Event in its form for a stream, and the data for the right to it."""

    seq: int
    tenant_id: str
    user_id: str
    keys: tuple[str, ...]
    event_type: str
    chunk: bytes


def chunk_of(row: StoredEvent) -> bytes:
    """Return an event as a server-sent one, with its place in the log as its id."""
    return f"id: {row.seq}\ndata: {row.event.to_json()}\n\n".encode()


def with_name(chunk: bytes, event_type: str) -> bytes:
    """Return a server-sent event with the event's type as its name, for `addEventListener` of a browser."""
    return f"event: {event_type}\n".encode() + chunk


def tenant_key(tenant_id: str) -> str:
    return f"tenant {tenant_id}"


def tree_key(root_plan_id: str) -> str:
    return f"tree {root_plan_id}"


class Tail:
    """Cache of the last few megabytes of the log during a stream; it wakes streams with new events.

    There is no queue for a follower: it reads the cache, or when it is too slow for that, the store.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._rows: deque[StreamRow] = deque()
        self._bytes = 0
        self._begin = self._end = 0
        self._followers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._reading: asyncio.Task[None] | None = None
        self.is_broken = False

    @contextmanager
    def follow(self, key: str, services: Services) -> Generator[asyncio.Event]:
        """An event that is set when something has come for this key, or when the tail breaks."""
        woken = asyncio.Event()
        self._followers[key].add(woken)
        if self._reading is None or self._reading.done():
            self.is_broken = False
            self._reading = asyncio.create_task(self._read(services), name="tail of the log")
        try:
            yield woken
        finally:
            self._followers[key].discard(woken)
            if not self._followers[key]:
                del self._followers[key]
            if not self._followers:
                self._stop()

    @property
    def followers(self) -> int:
        return sum(map(len, self._followers.values()))

    @property
    def end(self) -> int:
        return self._end

    def behind(self, place: int, most: int) -> Sequence[StreamRow] | None:
        """Return up to this number of rows behind a place of the log; None when some of them are no longer cached. A
        slow follower holds no more of them than these."""
        if not self._rows or not self._begin <= place <= self._end:
            return () if place == self._end and self._end else None
        begin = bisect_right(self._rows, place, key=_seq)
        return tuple(islice(self._rows, begin, begin + most))

    def wake_all(self) -> None:
        for followers in self._followers.values():
            for woken in followers:
                woken.set()

    async def _read(self, services: Services) -> None:
        watcher = services.signals.watch()
        try:
            newest = await services.store.events.events(limit=1, newest=True)
            self._forget(newest[-1].seq if newest else 0)
            self.wake_all()  # of what came since they looked into the store, nothing is kept
            while True:
                services.signals.check()
                rows = await services.store.events.events(after=self._end, limit=_BATCH)
                self._take(rows)
                if len(rows) < _BATCH:
                    await until(watcher, services.clock, _PAUSE)
        except Exception as error:
            # Whoever follows is sent away, and comes again.
            warn("tail_broke", error=type(error).__name__)
            self.is_broken = True
            self.wake_all()
        finally:
            services.signals.unwatch(watcher)

    def _stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        self._forget(0)

    def _forget(self, place: int) -> None:
        """Keep the rows behind this place; 0 keeps nothing, and everything is read in the store."""
        self._rows.clear()
        self._bytes, self._begin, self._end = 0, place, place

    def _take(self, rows: Sequence[StoredEvent]) -> None:
        woken: set[asyncio.Event] = set()
        for stored in rows:
            keys = _keys_of(stored.event)
            chunk = chunk_of(stored)
            self._rows.append(
                StreamRow(stored.seq, stored.event.tenant_id, stored.event.user_id, keys, stored.event.type, chunk)
            )
            self._bytes += len(chunk)
            self._end = stored.seq
            for key in keys:
                woken |= self._followers.get(key, set())
        while self._bytes > self._most_bytes:
            dropped = self._rows.popleft()
            self._bytes -= len(dropped.chunk)
            self._begin = dropped.seq
        for one in woken:
            one.set()


def _seq(row: StreamRow) -> int:
    return row.seq


def _keys_of(event: EventEnvelope) -> tuple[str, ...]:
    """Return the keys for followers of an event: a goal has no plan of its own yet, so it is found in the store."""
    tenant = tenant_key(event.tenant_id)
    return (tenant, tree_key(event.root_plan_id)) if event.root_plan_id else (tenant,)
