"""Measured programs as processes: a fresh interpreter, a fresh folder, and for rivals an environment of their own."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from bench.measure import Figures
from bench.table import FSYNCS, Options, Program

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / "bench" / ".rivals"
# On the disk of the project: the folder for temporary files may be in memory, without waits for a disk.
FOLDERS = ROOT / "bench" / ".runs"
PATIENCE = 900
# With the number of the thread before it, for several threads; an interrupted call is written twice.
_SYNC = re.compile(r"^(?:\d+ +)?(\d+\.\d+) f(?:data)?sync\(", re.MULTILINE)
_STRACE = ("strace", "-f", "-ttt", "-e", "trace=fsync,fdatasync", "-o")
# It stops a program at these calls only, in versions with this option.
_FAST_STRACE = ("strace", "--seccomp-bpf", *_STRACE[1:])


class ProgramFailed(Exception):
    """A program without figures."""


def run(program: Program, sizes: Options, trace: Path | None = None) -> Figures:
    """Run a program once, and return its figures. Raise ProgramFailed.

    `sizes` replace those options that the program has. With a path in `trace` its syncs are written there.
    """
    options = {name: sizes.get(name, value) for name, value in program.options.items()}
    FOLDERS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDERS) as folder:
        command = [str(python_of(program.rival)), "-m", program.module, folder, json.dumps(options)]
        traced = [*tracer(), str(trace), *command] if trace else command
        try:
            ended = subprocess.run(
                traced, check=False, capture_output=True, text=True, cwd=ROOT, env=_environment(), timeout=PATIENCE
            )
        except subprocess.TimeoutExpired as error:
            raise ProgramFailed(f"{program.module} {options} had not ended after {PATIENCE} s") from error
    if ended.returncode:
        said = "\n".join(ended.stderr.strip().splitlines()[-8:])
        raise ProgramFailed(f"{program.module} {options} ended with {ended.returncode}:\n{said}")
    figures: Figures = json.loads(ended.stdout.splitlines()[-1])
    return figures


def count_fsyncs(program: Program, sizes: Options) -> Figures:
    """Return the syncs of a unit, by a run with its times ignored; empty without strace."""
    if not tracer():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        figures = run(program, sizes, trace)
        count = syncs_between(trace.read_text(), figures["begin"], figures["end"])
    return {FSYNCS: count / figures["units"]}


def syncs_between(trace: str, begin: float, end: float) -> int:
    """Count the calls in strace's output with a begin between two moments since the epoch."""
    moments = (float(found[1]) for found in _SYNC.finditer(trace))
    return sum(begin <= moment <= end for moment in moments)


@cache
def tracer() -> tuple[str, ...]:
    """Return the command of strace, up to its output file; empty if it is missing or not allowed."""
    ways = (_FAST_STRACE, _STRACE) if shutil.which(_STRACE[0]) else ()
    tries = ((way, subprocess.run([*way, os.devnull, "true"], check=False, capture_output=True)) for way in ways)
    return next((way for way, tried in tries if tried.returncode == 0), ())


@cache
def python_of(rival: str | None) -> Path:
    """Return the interpreter of a rival's environment, created if it is missing or has other versions."""
    if rival is None:
        return Path(sys.executable)
    wanted = ROOT / "bench" / "rivals" / f"{rival}.txt"
    place, digest = ENVIRONMENTS / rival, hashlib.sha256(wanted.read_bytes()).hexdigest()
    python, mark = place / "bin" / "python", place / "made"
    if not mark.exists() or mark.read_text() != digest:
        print(f"setting up {place.relative_to(ROOT)}", file=sys.stderr)
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--requirement", str(wanted)], check=True)
        mark.write_text(digest)
    return python


def _environment() -> dict[str, str]:
    """Return an environment without our settings and without telemetry, with modules compiled once, as for programs
    started by people."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SOORMA_", "LANG", "OPENAI_"))}
    return {**kept, "LANG": "C.UTF-8", "DO_NOT_TRACK": "1", "PYTHONDONTWRITEBYTECODE": ""}
