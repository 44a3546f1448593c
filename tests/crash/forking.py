"""Where lives are forked from: a process that has loaded what they need, which takes most of the time of a life."""

import os
import sys
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running

# What lives of the crash proof need. Among it the programs that start lives, which each fork begins anew.
LOADED = (
    *("proof", "remote_flow", "server_life", "pytest", "jinja2.sandbox"),
    *(f"soorma_ai.kernel.runtime.planning.{name}" for name in ("ask_model", "decide", "machine", "planner", "turn")),
)


@cache
def forks(loaded: tuple[str, ...] = LOADED) -> ForkServerContext:
    """Return where lives are forked from with these modules, which it looks for where its environment says, and nowhere
    else. A process has one such place, with what it was first asked for."""
    context, before = get_context("forkserver"), os.environ.get("PYTHONPATH")
    context.set_forkserver_preload([*loaded])
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context
