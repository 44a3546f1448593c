"""Events by meaning, from an embedder: each text is embedded once in this process."""

import asyncio
from collections.abc import Sequence

from soorma_ai.embeddings.embedding import Embedding
from soorma_ai.embeddings.vectors import nearest, text_of
from soorma_ai.errors import ModelUnavailable
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Clock, Embedder, Vector

TEXTS_AT_ONCE = 128
MOST_KEPT = 50_000
QUERY_CHARS = 8_000


class SemanticSearch:
    def __init__(self, embedder: Embedder) -> None:
        self._embedding = Embedding(embedder)
        self._known: dict[str, Vector] = {}
        self._learning = asyncio.Lock()

    async def rank(self, definitions: Sequence[EventDefinition], query: str, most: int, clock: Clock) -> list[str]:
        """Return the names of at most `most` events, the nearest to the query first; none during the embedder's
        absence, and for incomparable vectors, since words find events as well."""
        texts = {definition.event_name: text_of(definition) for definition in definitions}
        if not texts or not query.strip():
            return []
        try:
            async with self._learning:
                await self._learn(list(dict.fromkeys(texts.values())), clock)
                vectors = {name: self._known[text] for name, text in texts.items()}
            (wanted,) = await self._embedding.vectors([clip(query, QUERY_CHARS)], clock)
        except ModelUnavailable:
            return []
        if any(len(vector.numbers) != len(wanted.numbers) for vector in vectors.values()):
            self._embedding.is_wrong("vectors of several lengths: give an embedder of one model")
            self._known.clear()  # nobody knows which of them are right
            return []
        return await asyncio.to_thread(nearest, vectors, wanted, most)

    async def _learn(self, texts: Sequence[str], clock: Clock) -> None:
        unknown = [text for text in texts if text not in self._known]
        if len(self._known) + len(unknown) > MOST_KEPT:
            self._known = {text: self._known[text] for text in texts if text in self._known}
        for begin in range(0, len(unknown), TEXTS_AT_ONCE):
            some = unknown[begin : begin + TEXTS_AT_ONCE]
            self._known.update(zip(some, await self._embedding.vectors(some, clock), strict=True))
