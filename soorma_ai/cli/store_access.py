"""Reading the store's file beside its owner, and writing through whoever owns it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path

from pydantic import TypeAdapter

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.owner.control import OwnerGone, ask_owner
from soorma_ai.adapters.owner.lock import AlreadyOwned, owner_of
from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.cli.options import LOCAL_USER, SHORTEST_PREFIX, Access
from soorma_ai.domain.expectations import FOR_PEOPLE
from soorma_ai.domain.letters import Letter
from soorma_ai.domain.people import AnswerOutcome, Person
from soorma_ai.domain.plans import PlanStatus
from soorma_ai.domain.values import JsonObject
from soorma_ai.errors import ConfigError, NotFound, StoreUnavailable
from soorma_ai.platform import Platform
from soorma_ai.ports import Pruned
from soorma_ai.runtime.client.client import Client
from soorma_ai.runtime.client.retention import added, prune
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.signals import Signals
from soorma_ai.settings import sqlite_path

ANSWER_SECONDS = 30.0
MOST_TRIES = 100
PAUSE_SECONDS = 0.1
PURPOSE = "a soorma command"
MOST_PLANS = 1_000_000
MOST_LETTERS = 1_000_000
LONGEST_NUMBER = 18

_COUNTS = TypeAdapter(Pruned)


@asynccontextmanager
async def reading(access: Access) -> AsyncGenerator[Client]:
    """Sees what is committed; needs no owner and disturbs none. Raises NotFound where there is no store."""
    clock = SystemClock()
    store = SqliteStore(_file(access), read_only=True)
    await store.open(clock.now())
    try:
        yield Client(Services(store, clock, PromptFiles(), Signals()), Person(access.tenant_id, LOCAL_USER))
    finally:
        await store.close()


@dataclass(frozen=True)
class Answering:
    """`answer_id` is made once for a command, so that however often it is sent, it is one answer."""

    wait_id: str
    payload: JsonObject
    decision: str | None
    note: str
    answer_id: str

    def spelled(self) -> JsonObject:
        return {
            "call": "answer",
            "wait_id": self.wait_id,
            "payload": self.payload,
            "decision": self.decision,
            "note": self.note,
            "answer_id": self.answer_id,
        }

    async def done_by(self, client: Client) -> JsonObject:
        outcome = await client.answer(
            self.wait_id, self.payload, decision=self.decision, note=self.note, answer_id=self.answer_id
        )
        return {"outcome": str(outcome), "detail": outcome.detail}


@dataclass(frozen=True)
class Cancelling:
    plan_id: str
    reason: str

    def spelled(self) -> JsonObject:
        return {"call": "cancel", "plan_id": self.plan_id, "reason": self.reason}

    async def done_by(self, client: Client) -> JsonObject:
        return {"cancelled": await client.cancel(self.plan_id, self.reason)}


@dataclass(frozen=True)
class Redriving:
    letter_id: int

    def spelled(self) -> JsonObject:
        return {"call": "redrive", "letter_id": self.letter_id}

    async def done_by(self, client: Client) -> JsonObject:
        return {"redriven": await client.redrive(self.letter_id)}


@dataclass(frozen=True)
class Discarding:
    letter_id: int
    note: str

    def spelled(self) -> JsonObject:
        return {"call": "discard", "letter_id": self.letter_id, "note": self.note}

    async def done_by(self, client: Client) -> JsonObject:
        return {"discarded": await client.discard(self.letter_id, self.note)}


@dataclass(frozen=True)
class Pruning:
    """`after`: where to go on. An owner does a part and says where that ends."""

    older_than: timedelta
    statuses: tuple[PlanStatus, ...]
    after: str | None = None

    def spelled(self) -> JsonObject:
        return {
            "call": "prune",
            "older_than": self.older_than.total_seconds(),
            "statuses": list(self.statuses),
            "after": self.after,
        }

    async def done_by(self, client: Client) -> JsonObject:
        tenant_id = client.person.tenant_id
        return asdict(await prune(client.services, tenant_id, self.older_than, self.statuses, after=self.after))


class Writer:
    """Acts through the owner of the file, or as its owner when there is none."""

    def __init__(self, access: Access, *, user_id: str = LOCAL_USER) -> None:
        self._path = _file(access)
        self._access = access
        self._person = Person(access.tenant_id, user_id)
        self.has_owner = False

    async def answer(self, command: Answering) -> AnswerOutcome:
        told = await self._do(command)
        return AnswerOutcome(str(told["outcome"]), str(told["detail"]))

    async def cancel(self, command: Cancelling) -> bool:
        """False when the plan had ended already."""
        return bool((await self._do(command))["cancelled"])

    async def redrive(self, command: Redriving) -> bool:
        """False when it is no dead letter any more."""
        return bool((await self._do(command))["redriven"])

    async def discard(self, command: Discarding) -> bool:
        """False when it is no dead letter any more."""
        return bool((await self._do(command))["discarded"])

    async def prune(self, command: Pruning) -> Pruned:
        total = Pruned(after=command.after)
        while True:
            told = _COUNTS.validate_python(await self._do(replace(command, after=total.after)))
            total = added(total, told)
            if total.after is None:
                return total

    async def _do(self, command: Answering | Cancelling | Redriving | Discarding | Pruning) -> JsonObject:
        """An owner may end while it is asked, or another begin while this process looks: then look again."""
        reason: Exception | None = None
        for _ in range(MOST_TRIES):
            owner = owner_of(self._path)
            self.has_owner = owner is not None
            try:
                if owner is None:
                    async with Platform(self._access.store_url, purpose=PURPOSE) as platform:
                        return await command.done_by(Client(platform.services, self._person))
                request = {
                    **command.spelled(),
                    "tenant_id": self._person.tenant_id,
                    "user_id": self._person.user_id,
                }
                return await ask_owner(owner.socket, request, timeout=ANSWER_SECONDS)
            except (AlreadyOwned, OwnerGone) as error:
                reason = error
            await asyncio.sleep(PAUSE_SECONDS)
        seconds = MOST_TRIES * PAUSE_SECONDS
        raise StoreUnavailable(
            f"{self._path} has an owner that cannot be reached, for {seconds:.0f} s now: {reason}"
        ) from reason


async def plan_named(client: Client, beginning: str) -> str:
    """The id of the one plan that begins so. Raises NotFound for none, and for several."""
    if await client.services.store.plan(beginning) is not None:
        return beginning
    return _only("plan", client, beginning, [plan.plan_id for plan in await client.plans(limit=MOST_PLANS)])


async def wait_named(client: Client, beginning: str) -> str:
    """Open questions first, then those that were closed: an answer to one of these is told who was first."""
    store = client.services.store
    if await store.expectation(beginning) is not None:
        return beginning
    open_now = [wait.wait_id for wait in await client.waits() if wait.wait_id.startswith(beginning)]
    if open_now:
        return _only("open question", client, beginning, open_now)
    ever = await store.expectations(tenant_id=client.person.tenant_id, only_open=False)
    return _only("question", client, beginning, [one.id for one in ever if one.kind in FOR_PEOPLE])


async def letter_named(client: Client, named: str) -> Letter:
    """By its number, whatever became of it; a dead one also by the beginning of its event's id. Raises NotFound for
    none, and for several."""
    found: dict[int, Letter] = {}
    if named.isascii() and named.isdigit() and len(named) <= LONGEST_NUMBER:
        with suppress(NotFound):
            one = await client.dead_letter(int(named))
            found[one.letter_id] = one
    if len(named) >= SHORTEST_PREFIX:
        dead = await client.dead_letters(limit=MOST_LETTERS)
        found |= {one.letter_id: one for one in dead if one.event.id.startswith(named)}
    if not found:
        raise NotFound(
            f"no dead letter of tenant {client.person.tenant_id!r} has the number {named!r}, "
            f"nor an event whose id begins so with {SHORTEST_PREFIX} characters or more"
        )
    if len(found) > 1:
        ids = [str(letter_id) for letter_id in sorted(found)]
        some = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
        raise NotFound(f"{named!r} may mean {len(ids)} dead letters; give the number of one: {some}")
    return next(iter(found.values()))


def _only(what: str, client: Client, beginning: str, ids: Sequence[str]) -> str:
    found = sorted({id for id in ids if id.startswith(beginning)})
    if not found:
        raise NotFound(f"no {what} of tenant {client.person.tenant_id!r} begins with {beginning!r}")
    if len(found) > 1:
        some = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise NotFound(f"{len(found)} {what}s begin with {beginning!r} ({some}); give more of the id")
    return found[0]


def _file(access: Access) -> Path:
    path = sqlite_path(access.store_url)
    if path is None:
        raise ConfigError(f"--store {access.store_url}: a store in memory has nothing to look at; give sqlite:///FILE")
    if not path.is_file():
        raise NotFound(f"there is no store at {path}: give --store URL, or run agents here once")
    return path
