"""One life of a test, in a process of its own: its stores are files, and it dies at a chosen commit."""

import asyncio
import hashlib
import inspect
import itertools
import json
import os
import pickle
import shutil
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from soorma_ai import assembly
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.ports import ModelQuestion, StoredEvent
from soorma_ai.kernel.runtime import flow
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.client.plan_handle import PlanHandle
from soorma_ai.kernel.runtime.handling.handling import InHand
from soorma_ai.platform import Platform
from soorma_ai.testing import clock, scripted
from soorma_ai.testing.crash.end import is_at_rest
from soorma_ai.testing.crash.evidence import Observer
from soorma_ai.testing.crash.ledger import append, handler_in_hand, lines_of

MADE_STORE = "made"
REPORT = "report"
REST_SECONDS = 3.0
MANY = 100_000
OVERTAKE_SECONDS = 0.03

# The calls of a test, and the option that makes a repetition the same call.
_KEYED = {
    "submit": "idempotency_key",
    "request": "idempotency_key",
    "ask": "idempotency_key",
    "publish": "idempotency_key",
    "answer": "answer_id",
}


@dataclass(frozen=True)
class Order:
    """Order for a life. `dies` is a commit with "before" or "after", None for no death."""

    folder: Path
    number: int = 1
    dies: tuple[int, str] | None = None
    observes: bool = False
    delivers_twice: bool = False
    swaps: bool = False


class Life:
    """Replaces the store, the bus and the calls of this process; it must be a child that ends afterwards."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._commits = 0
        self._last = ""
        self._paths = dict[str, Path]()
        self._names = itertools.count(1)
        self._calls = {name: itertools.count(1) for name in (*_KEYED, "next_wait", "script")}

    def run(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        self._replace()
        if self._order.observes:
            Observer(self._report).start()
        result = function(**arguments)
        if inspect.iscoroutine(result):
            asyncio.run(result)

    def _replace(self) -> None:
        clock.life = self._order.number
        for name, option in _KEYED.items():
            setattr(Client, name, self._with_key(name, option, getattr(Client, name)))
        replaced: list[tuple[Any, str, Any]] = [
            (assembly, "SqliteStore", self._make_store),
            (files, "Connection", _watched(self._execute)),
            (PlanHandle, "next_wait", self._remembered(PlanHandle.next_wait)),
            (Platform, "__aexit__", self._at_rest(Platform.__aexit__)),
            (scripted, "_in_order", self._in_order),
            (InHand, "__enter__", self._noted(InHand.__enter__)),
        ]
        if self._order.delivers_twice:
            replaced.append((assembly, "LocalBus", TwiceBus))
        if self._order.swaps:
            replaced.append((flow, "_decide", _overtaken(getattr(flow, "_decide"))))  # noqa: B009  (a private name)
        for owner, name, value in replaced:
            setattr(owner, name, value)

    def _make_store(self, path: Path | None, *arguments: Any, **options: Any) -> SqliteStore:
        name = f"memory-{next(self._names)}" if path is None else str(path)
        mine = self._paths.setdefault(name, self._order.folder / f"{len(self._paths) + 1}.db")
        if not mine.exists():
            shutil.copyfile(self._order.folder.parent / MADE_STORE, mine)
        return SqliteStore(mine, *arguments, **options)

    def _execute(self, plain: Callable[[], Any]) -> Any:
        self._commits += 1
        if self._order.observes:
            self._report("commit", self._last, "")
        self._die("before")
        result = plain()
        self._die("after")
        return result

    def _die(self, when: str) -> None:
        if self._order.dies == (self._commits, when):
            os.kill(os.getpid(), signal.SIGKILL)

    def _report(self, kind: str, handler: str, place: str) -> None:
        append(self._order.folder / REPORT, json.dumps([kind, handler, place]))

    def _with_key(self, name: str, option: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Give each call of the test a key by its number: told again after a death, it is the same call."""

        async def call(client: Client, *arguments: Any, **options: Any) -> Any:
            if options.get(option) is None:
                options[option] = f"crash-{name}-{next(self._calls[name])}"
            return await plain(client, *arguments, **options)

        return call

    def _remembered(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Give a test the question of its former life, also when it is answered by now."""

        async def next_wait(handle: PlanHandle, *arguments: Any, **options: Any) -> Any:
            path = self._order.folder / f"wait-{next(self._calls['next_wait'])}"
            if path.exists():
                return pickle.loads(path.read_bytes())
            found = await plain(handle, *arguments, **options)
            path.with_suffix(".new").write_bytes(pickle.dumps(found))
            path.with_suffix(".new").rename(path)
            return found

        return next_wait

    def _in_order(self, script: Iterable[scripted.Item]) -> Callable[[ModelQuestion], scripted.Item]:
        """Answer a question of a former life by the same item, and go on behind its last one."""
        items, path = [*script], self._order.folder / f"script-{next(self._calls['script'])}"
        former: list[str | None] = [*lines_of(path)]

        def respond(question: ModelQuestion) -> scripted.Item:
            name = hashlib.sha256(repr(question.messages).encode()).hexdigest()
            if name in former:
                number = former.index(name)
                former[number] = None
            else:
                number = len(lines_of(path))
                append(path, name)
            if number >= len(items):
                raise LocalProtocolError(f"the script is over after {len(items)} items; one more question was asked")
            return items[number]

        return respond

    def _at_rest(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Close a platform when its queues are empty."""

        async def close(platform: Platform, kind: object = None, *others: object) -> None:
            if kind is None:
                await self._come_to_rest()
                if self._order.delivers_twice and TwiceBus.last is not None:
                    await TwiceBus.last.publish(await platform.services.store.events.events(limit=MANY))
                    await self._come_to_rest()
            await plain(platform, kind, *others)

        return close

    async def _come_to_rest(self) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + REST_SECONDS
        while loop.time() < until and not all(map(is_at_rest, self._paths.values())):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def _noted(self, plain: Callable[[InHand], None]) -> Callable[[InHand], None]:
        def enter(hand: InHand) -> None:
            plain(hand)
            self._last = handler_in_hand()

        return enter


class TwiceBus(LocalBus):
    """Delivers every event twice."""

    last: "TwiceBus | None" = None

    def __init__(self) -> None:
        super().__init__()
        TwiceBus.last = self

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        await super().publish(rows)
        await super().publish(rows)


def _watched(watch: Callable[[Callable[[], Any]], Any]) -> type[Connection]:
    """Return the connection with `watch` around each commit with changes."""

    class WatchedConnection(Connection):
        _changes = 0

        def execute(self, sql: str, parameters: Any = (), /) -> Any:
            plain = partial(super().execute, sql, parameters)
            if sql != "COMMIT" or self.total_changes == self._changes:
                return plain()
            self._changes = self.total_changes
            return watch(plain)

    return WatchedConnection


def _overtaken(plain: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Hold every other delivery, so the next one overtakes it. One owner's deliveries keep their order: the next is
    claimed only after the former."""
    numbers = itertools.count()

    async def decide(*arguments: Any) -> None:
        if next(numbers) % 2 == 0:
            await asyncio.sleep(OVERTAKE_SECONDS)
        await plain(*arguments)

    return decide


async def make_store(path: Path) -> None:
    """Make an empty store, to be copied for each life."""
    store = SqliteStore(path, assembly.ALL_FEATURES)
    await store.open(clock.START)
    await store.close()
