"""Changes and searches of long-term memory."""

from typing import ClassVar

from msgspec import Struct

from soorma_ai.kernel.domain.effects import FeatureEffect
from soorma_ai.kernel.domain.memos import Memo, Shelf

FEATURE = "knowledge"


class Embedded(Struct, frozen=True):
    """A vector of length 1, and its signs as bits; those of two embedders do not compare."""

    embedder: str
    numbers: bytes
    signs: bytes


class KeepMemo(FeatureEffect, frozen=True):
    """Keep a memo in the place of one of its key. `title` and `content` are its terms, spaces between; `marks` what
    filters look for. Of more than `most` on the shelf the oldest goes, where it `is_diary`; else it is refused."""

    feature: ClassVar[str] = FEATURE

    memo: Memo
    title: str
    content: str
    marks: tuple[str, ...]
    most: int
    is_diary: bool = False
    embedded: Embedded | None = None


class DropMemo(FeatureEffect, frozen=True):
    feature: ClassVar[str] = FEATURE

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
