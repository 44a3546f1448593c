"""Events by what they mean, as an embedder tells it: each text is embedded once in this process."""

import asyncio
from collections.abc import Sequence

from soorma_ai.core.selection.vectors import Vector, nearest, text_of, vector_of
from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.values import clip
from soorma_ai.errors import ConfigError, TransientError
from soorma_ai.ports import Embedder
from soorma_ai.runtime.handling.logs import warn

TEXTS_AT_ONCE = 128
MOST_KEPT = 50_000
QUERY_CHARS = 8_000


class Meanings:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}
        self._learning = asyncio.Lock()

    async def rank(self, definitions: Sequence[EventDefinition], query: str, most: int) -> list[str]:
        """Return the names of at most so many events, the nearest to the query first; none while the embedder is away,
        since words find events as well. Raises ConfigError for vectors that do not compare."""
        texts = {definition.event_name: text_of(definition) for definition in definitions}
        if not texts or not query.strip():
            return []
        try:
            async with self._learning:
                await self._learn(list(dict.fromkeys(texts.values())))
                vectors = {name: self._known[text] for name, text in texts.items()}
            (wanted,) = await self._vectors([clip(query, QUERY_CHARS)])
        except TransientError as error:
            warn("embedder_away", embedder=self._embedder.name, reason=str(error))
            return []
        if any(len(vector.numbers) != len(wanted.numbers) for vector in vectors.values()):
            raise ConfigError(f"{self._embedder.name} gave vectors of several lengths: give an embedder of one model")
        return await asyncio.to_thread(nearest, vectors, wanted, most)

    async def _learn(self, texts: Sequence[str]) -> None:
        unknown = [text for text in texts if text not in self._known]
        if len(self._known) + len(unknown) > MOST_KEPT:
            self._known = {text: self._known[text] for text in texts if text in self._known}
        for begin in range(0, len(unknown), TEXTS_AT_ONCE):
            some = unknown[begin : begin + TEXTS_AT_ONCE]
            self._known.update(zip(some, await self._vectors(some), strict=True))

    async def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        found = await self._embedder.embed(texts)
        if len(found) != len(texts):
            raise ConfigError(f"{self._embedder.name} gave {len(found)} vectors for {len(texts)} texts: give one each")
        return [vector_of(numbers) for numbers in found]
