"""Long-term memory of a context: knowledge, conversations, and prompts and rules for later."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypedDict

from msgspec import Struct, field

from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject


class MemoKind(StrEnum):
    """KNOWLEDGE is semantic memory, an INTERACTION episodic, a SKILL procedural."""

    KNOWLEDGE = "knowledge"
    INTERACTION = "interaction"
    SKILL = "skill"


class Shelf(Record, frozen=True):
    """Place of memos with the same readers: a tenant (`is_shared`), else a user; with an `agent`, as that agent's
    memory. A search finds memos of the shelves in its query alone."""

    tenant_id: str
    kind: MemoKind
    user_id: str = NO_USER
    agent: str = ""
    is_shared: bool = False


class Memo(Record, frozen=True):
    """Long-term memory of a fact, a message or a skill. `key` is unique on its shelf. `by` is its author: an agent, or
    CLIENT. Of an interaction, `title` is the speaker; of a skill, its use."""

    shelf: Shelf
    key: str
    content: str
    at: datetime
    title: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""
    by: str = ""
    metadata: JsonObject = field(default_factory=dict[str, Json])
    expires_at: datetime | None = None


class About(TypedDict, total=False):
    """Properties of knowledge beside its text. `expires_in`: its time to live, a span or seconds."""

    title: str
    tags: tuple[str, ...] | list[str]
    source: str
    metadata: JsonObject
    expires_in: timedelta | float


class Filter(TypedDict, total=False):
    """Conditions on a memo: all of these tags, this source, this agent as `by`, these values at the top level of its
    metadata."""

    tags: tuple[str, ...] | list[str]
    source: str
    owner: str
    metadata: JsonObject


class Recollection(Struct, frozen=True):
    """Memory in a planner's prompt: its kinds, and their tokens."""

    kinds: tuple[MemoKind, ...]
    tokens: int


class MemoPlace(Struct, frozen=True):
    """Kind of a memo, and its readers: the user, or, `is_shared`, all of the tenant; with an `agent`, that one only."""

    kind: MemoKind
    is_shared: bool = False
    agent: str = ""


class HandlerMemos(Protocol):
    """Long-term memory of one handling, for its user. It finds its own changes, and they happen with its effects."""

    async def keep(self, place: MemoPlace, key: str | None, content: str, about: About) -> str:
        """Keep a text, in place of the former one of this key, or under a new key; return the key."""
        ...

    async def get(self, place: MemoPlace, key: str) -> Memo | None: ...

    async def find(
        self, kind: MemoKind, text: str, limit: int, given: Filter, *, shared: bool | None = None
    ) -> list[Memo]:
        """Return memos about a text, best first; without a text, the newest first."""
        ...

    async def drop(self, place: MemoPlace, key: str) -> bool:
        """Return False for a key without a memo."""
        ...


# Returns the memories that a planner is shown about some words.
Recall = Callable[[Recollection, str], Awaitable[tuple[JsonObject, ...]]]
