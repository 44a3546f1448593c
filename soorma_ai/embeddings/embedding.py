"""Vectors of a foreign embedder: it may fail, hang, or return anything but vectors."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from soorma_ai.embeddings.vectors import read_vectors
from soorma_ai.errors import Fatal, ModelUnavailable
from soorma_ai.kernel.domain.values import account_of
from soorma_ai.kernel.ports import Clock, Embedder, Vector
from soorma_ai.kernel.runtime.handling.logs import note, warn
from soorma_ai.kernel.runtime.handling.process.signals import until

SECONDS = 10.0
SECONDS_PER_TEXT = 0.5
# So long nobody waits again for one that did not answer in time.
REST_SECONDS = 300.0

_Found = Sequence[Sequence[float]]


class Embedding:
    """State of an embedder in this process. Its absence is logged once, until its return."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._rests_until = 0.0
        self._is_away = False

    async def vectors(self, texts: Sequence[str], clock: Clock) -> list[Vector]:
        """Return a vector for each text. Raise ModelUnavailable for every fault: words find events as well."""
        if clock.monotonic() < self._rests_until:
            raise ModelUnavailable(f"{self.name} did not answer in time a while ago, and is not asked")
        try:
            vectors = read_vectors(await self._ask(texts, clock), len(texts))
        except Exception as error:
            self.is_wrong(account_of(error))
            raise ModelUnavailable(f"{self.name} gave no vectors: {account_of(error)}") from error
        if self._is_away:
            self._is_away = False
            note("embedder_back", embedder=self.name)
        return vectors

    def is_wrong(self, reason: str) -> None:
        if not self._is_away:
            self._is_away = True
            warn("embedder_away", embedder=self.name, reason=reason)

    async def _ask(self, texts: Sequence[str], clock: Clock) -> _Found:
        seconds = SECONDS + SECONDS_PER_TEXT * len(texts)
        ended = asyncio.Event()
        asking = asyncio.ensure_future(_as_exception(self._embedder.embed(texts)))
        asking.add_done_callback(lambda done: (ended.set(), done.cancelled() or done.exception()))
        try:
            await until(ended, clock, seconds)
        finally:
            asking.cancel()
        if not asking.done():
            self._rests_until = clock.monotonic() + REST_SECONDS
            raise ModelUnavailable(f"no answer within {seconds} s; it is asked again in {REST_SECONDS} s")
        if asking.cancelled():
            raise ModelUnavailable("it cancelled its own call")
        return asking.result()


async def _as_exception(work: Coroutine[Any, Any, _Found]) -> _Found:
    """Let nothing out that would end more than this call."""
    try:
        return await work
    except (Exception, asyncio.CancelledError, Fatal):
        raise
    except BaseException as error:
        raise ModelUnavailable(f"it let out {account_of(error)}") from error
