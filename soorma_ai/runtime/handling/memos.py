"""Memos looked for: by words in the store, by meaning where an embedder is given, and by both together."""

import asyncio

from soorma_ai.core.memos import merge
from soorma_ai.core.selection.vectors import Vector, by_cosine, contenders, packed, unpacked_signs, vector_of
from soorma_ai.domain.memos import Embedded, Memo, MemoQuery
from soorma_ai.domain.values import clip
from soorma_ai.errors import ConfigError, TransientError
from soorma_ai.ports import Embedder
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.logs import warn

EMBEDDED_CHARS = 8_000


async def embed(services: Services, text: str) -> Embedded | None:
    """Return the vector of a text; None without an embedder, and while it is away: words find it as well. Raise
    ConfigError for what is no vector."""
    embedder = services.embedder
    if embedder is None:
        return None
    vector = await _vector(embedder, text)
    return vector and Embedded(embedder.name, *packed(vector))


async def find(services: Services, query: MemoQuery, text: str) -> list[Memo]:
    memos, now = services.store.memos, services.clock.now()
    by_words = await memos.search(query, now)
    if services.embedder is None or query.terms is None:
        return by_words
    by_meaning = await _find_by_meaning(services, services.embedder, query, text)
    return merge([by_words, by_meaning], query.limit) if by_meaning else by_words


async def _find_by_meaning(services: Services, embedder: Embedder, query: MemoQuery, text: str) -> list[Memo]:
    memos = services.store.memos
    known = await memos.signs(query.shelves, embedder.name)
    wanted = await _vector(embedder, text) if known else None
    if wanted is None:
        return []
    # What is marked is found among several times as many; what stands behind these, by its words alone.
    most = query.limit if not query.marks else 10 * query.limit
    likely = await asyncio.to_thread(
        lambda: contenders({seq: unpacked_signs(signs) for seq, signs in known}, wanted, most)
    )
    best = by_cosine(await memos.numbers(likely, embedder.name), wanted, most)
    return (await memos.memos_at(best, query, services.clock.now()))[: query.limit]


async def _vector(embedder: Embedder, text: str) -> Vector | None:
    try:
        found = await embedder.embed([clip(text, EMBEDDED_CHARS)])
    except TransientError as error:
        warn("embedder_away", embedder=embedder.name, reason=str(error))
        return None
    if len(found) != 1:
        raise ConfigError(f"{embedder.name} gave {len(found)} vectors for 1 text: give one each")
    return vector_of(found[0])
