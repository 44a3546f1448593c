"""Evidence of one run: reads of the wall clock by handlers, and their variables with changed contents."""

import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, cast

from soorma_ai.testing.crash.ledger import Ledger, handler_in_hand

Report = Callable[[str, str, str], None]

_READS = frozenset({"now", "utcnow", "today", "time", "time_ns"})
_CLOCKS = frozenset({"time", "datetime"})
_PACKAGE = str(Path(__file__).parents[2])
_NOT_THE_USERS = tuple({_PACKAGE, *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))})
_CONSTANT = (ModuleType, FunctionType, type, Ledger)


class Observer:
    """Profiler of one life. `report` takes the kind of a find, the handler, and the place."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._before = dict[FrameType, dict[str, str]]()

    def start(self) -> None:
        sys.setprofile(self._look)

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if not _is_users(code) or not (handler := handler_in_hand()):
            return
        if event == "c_call" and _reads_clock(argument):
            self._report("clock", handler, f"{_place(code)}:{frame.f_lineno}")
        elif event == "call":
            self._before[frame] = _state(frame)
        elif event == "return" and (before := self._before.pop(frame, None)) is not None:
            for name, value in _state(frame).items():
                if before.get(name, value) != value:
                    self._report("memory", handler, f"`{name}` in {_place(code)}")


@cache
def _is_users(code: CodeType) -> bool:
    return not code.co_filename.startswith(("<", *_NOT_THE_USERS))


def _place(code: CodeType) -> str:
    return f"{code.co_name}, {Path(code.co_filename).name}"


def _reads_clock(function: Any) -> bool:
    if getattr(function, "__name__", "") not in _READS:
        return False
    owner: Any = getattr(function, "__self__", None)
    home = owner.__name__ if isinstance(owner, ModuleType) else getattr(owner, "__module__", "")
    return home in _CLOCKS


def _state(frame: FrameType) -> dict[str, str]:
    """Return the contents of the variables of a call that outlive it: globals, closures, and `self`."""
    code, local = frame.f_code, frame.f_locals
    outliving = {name: frame.f_globals[name] for name in code.co_names if name in frame.f_globals}
    outliving |= {name: local[name] for name in (*code.co_freevars, "self") if name in local}
    return {name: text for name, value in outliving.items() if (text := _contents(value)) is not None}


def _contents(value: Any) -> str | None:
    """Return text for plain values, containers, and objects of the user's classes."""
    if isinstance(value, _CONSTANT) or type(value).__module__.startswith("soorma_ai"):
        return None
    try:
        if type(value).__module__ in ("builtins", "collections"):
            return repr(value)
        return repr(cast(dict[str, Any], vars(value)))
    except Exception:  # a repr of the user's
        return None
