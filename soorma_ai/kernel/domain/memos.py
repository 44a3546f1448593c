"""Memos: long-term memory beyond a plan. Knowledge, conversations, and prompts and rules for later."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypedDict

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
