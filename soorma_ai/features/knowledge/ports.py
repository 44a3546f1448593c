"""Port of long-term memory."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.context_parts.memos import Memo, Shelf
from soorma_ai.features.knowledge.records import MemoChange, MemoQuery
from soorma_ai.kernel.ports import StoreKey


class Memos(Protocol):
    """Memos beyond plans. One that has expired is not found any more, whether it is removed yet or not."""

    async def memo(self, shelf: Shelf, key: str, now: datetime) -> Memo | None: ...

    async def search(self, query: MemoQuery, now: datetime) -> list[Memo]:
        """Return memos by full text, the best first, by BM25 of words on their shelf; those found by marks only, the
        newest first."""
        ...

    async def signs(self, shelves: Sequence[Shelf], embedder: str) -> list[tuple[int, bytes]]:
        """Return the signs of all vectors by this embedder, each with its memo's number."""
        ...

    async def numbers(self, seqs: Sequence[int], embedder: str) -> dict[int, bytes]: ...

    async def memos_at(self, seqs: Sequence[int], query: MemoQuery, now: datetime) -> list[Memo]:
        """Return, in this order, those with the marks of the query."""
        ...

    async def change(self, changes: Sequence[MemoChange], now: datetime) -> None:
        """Outside a handling. Raise LocalProtocolError where a shelf is full, and then nothing has changed."""
        ...


MEMOS: StoreKey[Memos] = StoreKey("memos", feature="knowledge")
