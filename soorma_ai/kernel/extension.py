"""What a feature adds to the kernel. The composition root lists the extensions; the kernel names no feature."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from msgspec import Struct

from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.sql.storage import FeatureSet, Storage

Loop = Callable[[Services], Coroutine[Any, Any, None]]


class Extension(Struct, frozen=True, kw_only=True):
    """A feature as it is plugged in. With it off its tables stay as they are, and its parts and effects are refused.

    `storage` is what it keeps, `loops` run beside agents, by name. `operations` are calls over HTTP, `commands` those
    of the command line by name, as the composition root of each understands them.
    """

    name: str
    storage: Storage = Storage()
    loops: Mapping[str, Loop] = {}
    operations: tuple[object, ...] = ()
    commands: Mapping[str, object] = {}


def feature_set(extensions: Iterable[Extension]) -> FeatureSet:
    """Return what these features keep in a store."""
    return FeatureSet({one.name: one.storage for one in extensions})
