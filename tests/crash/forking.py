"""A fork server for lives: a process with their modules loaded, since imports take most of the time of a life."""

import os
import sys
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running

# The modules of the crash proof's lives, including the programs themselves; each fork begins them anew.
LOADED = (
    *("proof", "remote_flow", "server_life", "pytest", "jinja2.sandbox"),
    *(f"soorma_ai.kernel.runtime.planning.{name}" for name in ("ask_model", "decide", "machine", "planner", "turn")),
)


@cache
def forks(loaded: tuple[str, ...] = LOADED) -> ForkServerContext:
    """Return the fork server with these modules. It finds them by this process's path alone. A process has one fork
    server, with the modules of the first call."""
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
