"""Notifications to other processes, sent after a commit. They are hints, and may be lost or cut short: a process that
waits reads the rows anyway, later."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import cast

from msgspec import Struct, field

from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.domain.expectations import Arrival

# Seconds between notifications, each of them for all commits since the one before.
PAUSE = 0.01
# Bytes of a notification, of which the server takes 7,999.
MOST = 7_000


class Notification(Struct, frozen=True):
    """`is_leaving`: something is left to the relay. `is_short`: there is more than this says."""

    arrival: Arrival = field(default_factory=Arrival)
    is_leaving: bool = False
    is_short: bool = False


class Notifier:
    """Sender of notifications, beside the transactions that they are about: each takes a lock of the whole server."""

    def __init__(self, send: Callable[[Notification], Awaitable[object]]) -> None:
        self._send = send
        self._arrivals: list[Arrival] = []
        self._is_leaving = False
        self._sending: asyncio.Task[None] | None = None

    def add(self, arrivals: Iterable[Arrival], *, is_leaving: bool) -> None:
        """Add the effects of a commit to the next notification."""
        self._arrivals += arrivals
        self._is_leaving |= is_leaving
        if self._sending is None and (self._arrivals or self._is_leaving):
            self._sending = asyncio.ensure_future(self._send_all())

    async def close(self) -> None:
        if self._sending is not None:
            await asyncio.wait([self._sending])

    async def _send_all(self) -> None:
        try:
            while self._arrivals or self._is_leaving:
                news = Notification(join(self._arrivals), self._is_leaving)
                self._arrivals, self._is_leaving = [], False
                with suppress(StoreUnavailable):
                    await self._send(news)
                await asyncio.sleep(PAUSE)
        finally:
            # A handler may cancel all tasks of its loop: the next commit begins another one.
            self._sending = None


def join(arrivals: Iterable[Arrival]) -> Arrival:
    """Return the effects of several transactions as one, as far as they concern other processes."""
    agents, stops, answered = set[str](), set[str](), set[str]()
    for one in arrivals:
        agents |= one.agents
        stops |= one.stops
        answered |= {*one.replies, *one.answered}
    return Arrival(frozenset(agents), stops=frozenset(stops), answered=frozenset(answered))


def write(sender: str, news: Notification) -> str:
    """Return a notification. Where it would be too long, it says so instead of the rest."""
    one = news.arrival
    told: dict[str, object] = {"by": sender}
    if news.is_leaving:
        told["leaving"] = True
    for name, ids in (("stops", one.stops), ("agents", one.agents), ("answered", one.answered)):
        longer = {**told, name: sorted(ids)} if ids else told
        if len(json.dumps(longer)) > MOST:
            told["short"] = True
        else:
            told = longer
    return json.dumps(told)


def read(payload: str, reader: str) -> Notification | None:
    """Return the content of a notification, None for one's own. An unreadable one may mean anything."""
    try:
        told = json.loads(payload)
    except ValueError:
        return Notification(is_short=True)
    if not isinstance(told, dict):
        return Notification(is_short=True)
    said = cast("dict[str, object]", told)
    if said.get("by") == reader:
        return None
    arrival = Arrival(_ids(said, "agents"), stops=_ids(said, "stops"), answered=_ids(said, "answered"))
    return Notification(arrival, said.get("leaving") is True, "short" in said)


def _ids(said: dict[str, object], name: str) -> frozenset[str]:
    ids = said.get(name)
    return frozenset(map(str, cast("list[object]", ids))) if isinstance(ids, list) else frozenset()
