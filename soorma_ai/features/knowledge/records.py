"""Changes and searches of long-term memory."""

from typing import Annotated, ClassVar

from msgspec import Struct
from pydantic import Field, StringConstraints

from soorma_ai.context_parts.memos import Memo, Shelf
from soorma_ai.kernel.domain.effects import FeatureEffect
from soorma_ai.kernel.domain.parameters import WireForm

FEATURE = "knowledge"

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
LookupResult = Annotated[int, Field(ge=1, le=MOST_FOUND)]


class MemoVector(Struct, frozen=True):
    """A vector of length 1, and its signs as bits; those of two embedders do not compare."""

    embedder: str
    numbers: bytes
    signs: bytes


class KeepMemo(FeatureEffect, frozen=True):
    """Keep a memo, in place of the former one of its key. `title` and `content` are its terms, spaces between; `marks`
    are for filters. Of more than `most` on the shelf the oldest goes, if it `is_diary`; else it is refused."""

    feature: ClassVar[str] = FEATURE

    memo: Memo
    title: str
    content: str
    marks: tuple[str, ...]
    most: int
    is_diary: bool = False
    embedded: MemoVector | None = None


class DropMemo(FeatureEffect, frozen=True):
    feature: ClassVar[str] = FEATURE

    shelf: Shelf
    key: str


MemoChange = KeepMemo | DropMemo


class MemoQuery(Struct, frozen=True):
    """Search of shelves for any of `terms`, among memos with all `marks`, best first. Without a text (`terms` None) the
    newest come first."""

    shelves: tuple[Shelf, ...]
    terms: tuple[str, ...] | None
    marks: tuple[str, ...]
    limit: int
