"""External callers over HTTP, through any server: clients with repeated requests, two people with an answer each, and a
reader of the log from its beginning. Every call is retried until it succeeds."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from trades import GOALS, LABEL, PATIENCE, answer_to, name_of

from soorma_ai import Platform, Wait
from soorma_ai.clients.asynchronous import AsyncClient
from soorma_ai.errors import DeadlineExceeded, NotFound, TransientError

T = TypeVar("T")

TRIED_AGAIN_AFTER = 0.1
LOOKS_AGAIN_AFTER = 0.5
MOST_WAITS = 200
AT_ONCE = 16


@dataclass
class CallerRecord:
    """The answers to callers. `plans` and `replies` are by the name of the order, one for each request; `accepted` are
    the counted answers by question; `seen` are the places of the log in order of arrival."""

    plans: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    replies: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    accepted: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    seen: list[int] = field(default_factory=list)


class Callers:
    """`clients` belong to one platform each; `follow` needs only its own calls."""

    def __init__(self, clients: Sequence[AsyncClient | Platform], rng: random.Random) -> None:
        self.told = CallerRecord()
        self._clients = clients
        self._rng = rng
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def pursue(self, kind: str, number: int) -> None:
        """Give one goal to two servers, or request one label from two servers."""
        name = name_of(kind, number)
        async with self._at_once:
            if kind in GOALS:
                self.told.plans[name] += await asyncio.gather(*(self._submit(kind, name) for _ in range(2)))
            else:
                self.told.replies[name] += await asyncio.gather(*(self._label(name) for _ in range(2)))

    async def answer_all(self) -> None:
        """Two people answer every question, each by a server of their own, until this is cancelled."""
        while True:
            waits = await self._ask(lambda client: client.waits(limit=MOST_WAITS))
            await asyncio.gather(*(self._answer_twice(wait) for wait in waits))
            await asyncio.sleep(LOOKS_AGAIN_AFTER)

    async def follow(self) -> None:
        """Read the log as it grows, until this is cancelled."""
        place = 0
        for client in chain.from_iterable(iter(lambda: self._clients, None)):
            assert isinstance(client, AsyncClient)
            with suppress(TransientError):
                async for row in client.events_stream(after=place):
                    place = row.seq
                    self.told.seen.append(place)
            await asyncio.sleep(TRIED_AGAIN_AFTER)

    async def _submit(self, kind: str, name: str) -> str:
        return (
            await self._ask(lambda client: client.submit(GOALS[kind], {"name": name}, idempotency_key=name))
        ).plan_id

    async def _label(self, name: str) -> Any:
        reply = await self._ask(
            lambda client: client.request(LABEL, {"name": name}, timeout=PATIENCE, idempotency_key=name)
        )
        return reply.get("result", reply)

    async def _answer_twice(self, wait: Wait) -> None:
        async with self._at_once:
            await asyncio.gather(*(self._answer(wait, who) for who in ("ann", "bob")))

    async def _answer(self, wait: Wait, who: str) -> None:
        said, answer_id = answer_to(wait), f"{who}:{wait.wait_id}"
        outcome = await self._ask(lambda client: client.answer(wait.wait_id, said, answer_id=answer_id))
        if outcome == "accepted":
            self.told.accepted[wait.wait_id].add(who)

    async def _ask(self, call: Callable[[AsyncClient | Platform], Awaitable[T]]) -> T:
        """Call one server after the other. A goal without a registered planner is tried again, too."""
        while True:
            try:
                return await call(self._rng.choice(self._clients))
            except (TransientError, DeadlineExceeded, NotFound):
                await asyncio.sleep(TRIED_AGAIN_AFTER)
