"""Digests of the inputs of a prompt, and of what a model was sent."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from soorma_ai.kernel.domain.values import Json, compact

_DIGITS, _FEW_DIGITS = 32, 12


class TextDigest:
    """Digest of a text that grows at its end."""

    def __init__(self) -> None:
        self._found = hashlib.sha256()

    def add(self, text: str) -> None:
        self._found.update(text.encode("utf-8", "surrogatepass"))

    def with_end(self, text: str) -> str:
        """Return the `digest_of` the text so far with this end."""
        if not text:
            return self._found.hexdigest()[:_FEW_DIGITS]
        found = self._found.copy()
        found.update(text.encode("utf-8", "surrogatepass"))
        return found.hexdigest()[:_FEW_DIGITS]


def digest_of(value: Json) -> str:
    """Return the short digest of an input."""
    return _hash(value if isinstance(value, str) else compact(value))[:_FEW_DIGITS]


# Most texts are those of the question before: their digests are known.
@lru_cache(maxsize=256)
def digest_of_part(text: str) -> str:
    """Return the digest of a long text."""
    return _hash(text)[:_DIGITS]


def digest_messages(messages: Iterable[tuple[str, str]]) -> str:
    """Return the digest of messages, each a role and a text."""
    found = hashlib.sha256()
    for message in messages:
        for part in message:
            spelled = part.encode("utf-8", "surrogatepass")
            found.update(b"%d:" % len(spelled) + spelled)
    return found.hexdigest()[:_DIGITS]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
