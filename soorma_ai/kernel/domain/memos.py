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
    """The place of memos that the same may see: a tenant's, where it `is_shared`, else a user's; with an `agent`, as
    that agent remembers them. Nothing is found across shelves that is not asked for on each."""

    tenant_id: str
    kind: MemoKind
    user_id: str = NO_USER
    agent: str = ""
    is_shared: bool = False


class Memo(Record, frozen=True):
    """`key` is unique on its shelf. `by` is the agent that kept it, or CLIENT. Of an interaction, `title` says who
    spoke; of a skill, it says when it is of use."""

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
    """What is said of knowledge beside its text. `expires_in`: how long it is kept, a span or seconds."""

    title: str
    tags: tuple[str, ...] | list[str]
    source: str
    metadata: JsonObject
    expires_in: timedelta | float


class Filter(TypedDict, total=False):
    """Conditions that a memo meets: all of these tags, this source, this agent as who kept it, these values at the top
    level of its metadata."""

    tags: tuple[str, ...] | list[str]
    source: str
    owner: str
    metadata: JsonObject


class Recollection(Struct, frozen=True):
    """What a planner is told from memory: the kinds that are looked through, and the tokens that they may take."""

    kinds: tuple[MemoKind, ...]
    tokens: int


class MemoPlace(Struct, frozen=True):
    """Kind of a memo, and its readers: the user, or, `is_shared`, all of the tenant; with an `agent`, that one only."""

    kind: MemoKind
    is_shared: bool = False
    agent: str = ""
