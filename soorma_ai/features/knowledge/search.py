"""Memos looked for: by words in the store, by meaning where an embedder is given, and by both together."""

import asyncio

from soorma_ai.context_parts.memos import Memo
from soorma_ai.embeddings.vectors import by_cosine, contenders, pack, unpacked_signs
from soorma_ai.errors import ModelUnavailable
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.records import MemoQuery, MemoVector
from soorma_ai.features.knowledge.rules import merge
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Vector, VectorSource
from soorma_ai.kernel.runtime.handling.handling import Services

EMBEDDED_CHARS = 8_000


async def embed(services: Services, text: str) -> MemoVector | None:
    """Return the vector of a text; None without an embedder, and while it is away: words find it as well."""
    embedding = services.embedding
    vector = await _vector(services, embedding, text) if embedding else None
    return MemoVector(embedding.name, *pack(vector)) if embedding and vector else None


async def find(services: Services, query: MemoQuery, text: str) -> list[Memo]:
    memos, now = services.store.part(MEMOS), services.clock.now()
    by_words = await memos.search(query, now)
    if services.embedding is None or query.terms is None:
        return by_words
    by_meaning = await _find_by_meaning(services, services.embedding, query, text)
    return merge([by_words, by_meaning], query.limit) if by_meaning else by_words


async def _find_by_meaning(services: Services, embedding: VectorSource, query: MemoQuery, text: str) -> list[Memo]:
    memos = services.store.part(MEMOS)
    known = await memos.signs(query.shelves, embedding.name)
    wanted = await _vector(services, embedding, text) if known else None
    if wanted is None:
        return []
    # What is marked is found among several times as many; what stands behind these, by its words alone.
    most = query.limit if not query.marks else 10 * query.limit
    likely = await asyncio.to_thread(
        lambda: contenders({seq: unpacked_signs(signs) for seq, signs in known}, wanted, most)
    )
    best = by_cosine(await memos.numbers(likely, embedding.name), wanted, most)
    return (await memos.memos_at(best, query, services.clock.now()))[: query.limit]


async def _vector(services: Services, embedding: VectorSource, text: str) -> Vector | None:
    try:
        (found,) = await embedding.vectors([clip(text, EMBEDDED_CHARS)], services.clock)
    except ModelUnavailable:
        return None
    return found
