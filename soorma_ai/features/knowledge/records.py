"""Memos: what is remembered beyond a plan. Knowledge, what was said to whom, and prompts and rules for later."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, TypedDict

from msgspec import Struct, field
from pydantic import Field, StringConstraints

from soorma_ai.kernel.domain.parameters import WireForm
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Json, JsonObject

MOST_CHARS = 32_000
MOST_TITLE_CHARS = 1_000
LONGEST_NAME = 200
MOST_TAGS = 50
MOST_FOUND = 100
MOST_QUERY_CHARS = 16_000

# Parameters of calls.
Content = Annotated[str, StringConstraints(min_length=1, max_length=MOST_CHARS)]
Title = Annotated[str, StringConstraints(max_length=MOST_TITLE_CHARS)]
AgentName = Annotated[str, StringConstraints(max_length=LONGEST_NAME)]
Sought = Annotated[str, StringConstraints(max_length=MOST_QUERY_CHARS)]
Context = Annotated[Sought, WireForm(name="query")]
Found = Annotated[int, Field(ge=1, le=MOST_FOUND)]


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


class Embedded(Struct, frozen=True):
    """A vector of length 1, and its signs as bits; those of two embedders do not compare."""

    embedder: str
    numbers: bytes
    signs: bytes


class KeepMemo(Struct, frozen=True):
    """Keep a memo in the place of one of its key. `title` and `content` are its terms, spaces between; `marks` what
    filters look for. Of more than `most` on the shelf the oldest goes, where it `is_diary`; else it is refused."""

    memo: Memo
    title: str
    content: str
    marks: tuple[str, ...]
    most: int
    is_diary: bool = False
    embedded: Embedded | None = None


class DropMemo(Struct, frozen=True):
    shelf: Shelf
    key: str


MemoChange = KeepMemo | DropMemo


class MemoQuery(Struct, frozen=True):
    """A search of shelves for any of `terms`, among what has all `marks`, best first. Without a text (`terms` None) the
    newest come first."""

    shelves: tuple[Shelf, ...]
    terms: tuple[str, ...] | None
    marks: tuple[str, ...]
    limit: int


class Recollection(Struct, frozen=True):
    """What a planner is told from memory: the kinds that are looked through, and the tokens that they may take."""

    kinds: tuple[MemoKind, ...]
    tokens: int
