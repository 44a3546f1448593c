"""Where lives are forked from: a process that has loaded what they need, which takes most of the time of a life."""

import os
import sys
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running

# Among it the programs that start lives, which each fork begins anew.
LOADED = [
    *("proof", "remote_flow", "server_life", "pytest", "jinja2.sandbox"),
    *(f"soorma_ai.runtime.planning.{name}" for name in ("ask_model", "decide", "machine", "planner", "turn")),
]


@cache
def forks() -> ForkServerContext:
    """It looks for what it loads where its environment says, and nowhere else."""
    context, before = get_context("forkserver"), os.environ.get("PYTHONPATH")
    context.set_forkserver_preload(LOADED)
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context
