"""The report of a measured program. It uses the standard library alone, since rivals' programs use it too."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# `begin` and `end` are moments since the epoch around the `units` of work; all else is per unit or has its unit in its
# name.
Figures = dict[str, float]

STATUS = Path("/proc/self/status")


class Lap:
    """A block's seconds, by the clock and of the CPU; the CPU's are of all threads of this process, not of others."""

    def __enter__(self) -> Self:
        self.begin, self._wall, self._cpu = time.time(), time.perf_counter(), time.process_time()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.wall, self.cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        self.end = time.time()

    def per(self, units: float) -> Figures:
        """Return milliseconds per unit, and units per second."""
        return {
            "ms": self.wall * 1000 / units,
            "cpu_ms": self.cpu * 1000 / units,
            "per_s": units / self.wall,
            "units": units,
            "begin": self.begin,
            "end": self.end,
        }


def anonymous_kb() -> float | None:
    """Return the anonymous memory of this process, without pages of files; None on a system without this figure."""
    lines = STATUS.read_text().splitlines() if STATUS.exists() else []
    return next((float(line.split()[1]) for line in lines if line.startswith("RssAnon")), None)


def disk_kb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1024


def main(measure: Callable[..., Coroutine[Any, Any, Figures]]) -> None:
    """Run as `program FOLDER OPTIONS`: `measure` gets the folder, and the options, a JSON object, by their names."""
    folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    print(json.dumps(asyncio.run(measure(folder, **options))))
