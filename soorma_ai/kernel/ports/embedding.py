"""Texts as vectors."""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """A model that makes vectors of texts, which lie the nearer the more the texts mean the same."""

    @property
    def name(self) -> str:
        """Return the model and its version: vectors of two do not compare."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, all of one length. Raises ModelUnavailable and RateLimited where trying again
        may help, and ConfigError."""
        ...
