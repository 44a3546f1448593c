"""Digests of the inputs of a prompt, and of the messages to a model."""

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

    def __str__(self) -> str:
        """Return the `digest_of` of the text."""
        return self._found.hexdigest()[:_FEW_DIGITS]


def digest_of(value: Json) -> str:
    """Return the short digest of an input."""
    if value == "":
        return _OF_NOTHING
    return _hash(value if isinstance(value, str) else compact(value))[:_FEW_DIGITS]


# Most long texts stand in the question before, too.
@lru_cache(maxsize=256)
def digest_of_part(text: str) -> str:
    """Return the digest of a long text."""
    return _hash(text)[:_DIGITS]


def digest_messages(messages: Iterable[tuple[str, str]]) -> str:
    """Return the digest of messages, each a role and a text."""
    found = None
    for role, text in messages:
        if found is None:
            found = _begin(role, text).copy()
        else:
            found.update(_spell(role, text))
    return (found or hashlib.sha256()).hexdigest()[:_DIGITS]


# The first message stays the same from question to question.
@lru_cache(maxsize=64)
def _begin(role: str, text: str):
    return hashlib.sha256(_spell(role, text))


def _spell(role: str, text: str) -> bytes:
    spelled = text.encode("utf-8", "surrogatepass")
    return b"%d:%s%d:%s" % (len(role), role.encode(), len(spelled), spelled)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_OF_NOTHING = _hash("")[:_FEW_DIGITS]
