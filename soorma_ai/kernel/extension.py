"""Extensions of the kernel by features. The composition root lists them; the kernel names no feature."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from msgspec import Struct

from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.sql.storage import FeatureSet, Storage

Loop = Callable[[Services], Coroutine[Any, Any, None]]


class Extension(Struct, frozen=True, kw_only=True):
    """A feature, plugged in. With it off, its tables stay as they are, and its parts and effects are refused.

    `storage` has its tables, parts and hooks. `loops` run beside agents, by name. `operations` are calls over HTTP, in
    the type of the composition root of the server.
    """

    name: str
    storage: Storage = Storage()
    loops: Mapping[str, Loop] = {}
    operations: tuple[object, ...] = ()


def feature_set(extensions: Iterable[Extension]) -> FeatureSet:
    """Return the storage of these features."""
    return FeatureSet({one.name: one.storage for one in extensions})
