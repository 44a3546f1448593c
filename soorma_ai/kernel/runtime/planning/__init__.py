"""Engine of planners. Its modules are loaded by the first planner of a process, and not by an import of the classes of
planners: they are a fifth of the package."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soorma_ai.kernel.runtime.planning import decide as decide
    from soorma_ai.kernel.runtime.planning import machine as machine
    from soorma_ai.kernel.runtime.planning import planner as planner
    from soorma_ai.kernel.runtime.planning import turn as turn


def __getattr__(name: str) -> ModuleType:
    if name not in ("decide", "machine", "planner", "turn"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
