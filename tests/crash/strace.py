"""System calls of a program, counted and changed by strace(1). It counts the calls of each thread apart."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from life import FINISHED
from trial import Program, Stage

_QUIET = ("-f", "-qq")
_CALL = re.compile(r"^(\d+) +(\w+)\(", re.M)
_INJECTED = "(INJECTED)"


def why_not() -> str:
    """Return the reason strace cannot work here, or an empty text."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", *_QUIET, "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    return f"strace cannot trace here: {tried.stderr.strip()[:200]}" if tried.returncode else ""


def kill_options(call: str, n: int) -> Sequence[str]:
    """Return the options to kill the process before a thread's n-th such call."""
    return _tampering(call, f"signal=KILL:when={n}", Path("/dev/null"))


def fail_options(call: str, error: str, when: str, log: Path) -> Sequence[str]:
    """Return the options to fail a call. `when` is 'n' for one call, 'n+' for it and all later ones."""
    return _tampering(call, f"error={error}:when={when}", log)


def count_failed(log: Path) -> int:
    """Return the number of failed calls in a log."""
    return log.read_text(errors="replace").count(_INJECTED) if log.exists() else 0


def calls_of(stage: Stage, program: Program, calls: Sequence[str], bug: str = "") -> dict[str, int]:
    """Return the calls of each kind by the busiest thread of an undisturbed run."""
    with stage.case(program, bug) as warm:
        warm.live(under=("env",))  # compiling the modules is no part of it
    with stage.case(program, bug) as case:
        log = case.folder / "strace"
        ended = case.live(under=("strace", *_QUIET, "-o", str(log), "-e", f"trace={','.join(calls)}"))
        if ended != FINISHED:
            raise AssertionError(f"{program.name} ends with {ended} under strace: {case.said()}")
        made = Counter(_CALL.findall(log.read_text(errors="replace")))
    return {call: max((n for (_, name), n in made.items() if name == call), default=0) for call in calls}


def _tampering(call: str, how: str, log: Path) -> Sequence[str]:
    return ("strace", *_QUIET, "-o", str(log), "-e", f"trace={call}", "-e", f"inject={call}:{how}")
