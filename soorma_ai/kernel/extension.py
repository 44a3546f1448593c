"""Extensions of the kernel by features. The composition root lists them; the kernel names no feature."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from msgspec import Struct

from soorma_ai.kernel.ports.part_keys import ContextKey
from soorma_ai.kernel.runtime.handling.handling import ChooseModel, Handling, Observer, Services
from soorma_ai.kernel.runtime.handling.process.counters import Counters
from soorma_ai.kernel.sql.storage import FeatureSet, Storage

Loop = Callable[[Services], Coroutine[Any, Any, None]]


class Extension(Struct, frozen=True, kw_only=True):
    """A feature, plugged in. With it off, its tables stay as they are, and its parts and effects are refused.

    `storage` has its tables, parts and hooks. `loops` run beside agents, by name. `context` makes its parts of a
    handler's context, each for one handling. `observe` makes its observer of commits, for a process with these
    counters. `choose_model` returns the model in force.
    """

    name: str
    storage: Storage = Storage()
    loops: Mapping[str, Loop] = {}
    context: Mapping[ContextKey[Any], Callable[[Handling], Any]] = {}
    observe: Callable[[Counters], Observer] | None = None
    choose_model: ChooseModel | None = None


def context_parts(extensions: Iterable[Extension]) -> dict[ContextKey[Any], Callable[[Handling], Any]]:
    """Return the parts of a context that these features make."""
    return {key: make for one in extensions for key, make in one.context.items()}


def feature_set(extensions: Iterable[Extension]) -> FeatureSet:
    """Return the storage of these features."""
    return FeatureSet({one.name: one.storage for one in extensions})
