"""Measure the delay of other work by a check of the worst data.

    make bench-worst-data

For each kind of schema and each size: the CPU time of the check and of its longest slice, and the longest pause of a
second task on the loop, and of a second thread. Load of other programs adds to the pauses: a missed row with a short
slice is run again.
"""

import asyncio
import threading
import time

from unit.worst_data import KINDS, SIZES

from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead

WANTED = 50.0
MILLISECOND = 0.001


class Gaps:
    """The longest pauses of a task and of a thread, in milliseconds."""

    def __init__(self) -> None:
        self.of_the_loop = self.of_a_thread = self.of_a_slice = 0.0
        self._ended = False

    async def __aenter__(self) -> "Gaps":
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._task = asyncio.ensure_future(self._turn())
        await asyncio.sleep(10 * MILLISECOND)
        self.of_the_loop = self.of_a_thread = self.of_a_slice = 0.0
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(0)
        self._ended = True
        await self._task
        self._thread.join()

    async def _turn(self) -> None:
        while not self._ended:
            begun, spent = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0)
            self.of_a_slice = max(self.of_a_slice, 1_000 * (time.thread_time() - spent))
            self.of_the_loop = max(self.of_the_loop, 1_000 * (time.perf_counter() - begun))

    def _run(self) -> None:
        while not self._ended:
            begun = time.perf_counter()
            time.sleep(MILLISECOND)
            self.of_a_thread = max(self.of_a_thread, 1_000 * (time.perf_counter() - begun - MILLISECOND))


async def check(schema: JsonObject, value: Json) -> tuple[float, Gaps]:
    """Check like the doors: in slices, and then by a rule. Return the milliseconds of CPU, and the gaps."""
    violations(schema, {})  # compiled before, like a registered schema
    async with Gaps() as gaps:
        begun = time.thread_time()
        await check_ahead("default", schema, value)
        violations(schema, value)
        spent = time.thread_time() - begun
    return 1_000 * spent, gaps


def main() -> None:
    print("| kind | bytes | CPU ms | slice ms | loop ms | thread ms | |\n|---|---|---|---|---|---|---|")
    for kind, (schema, make) in KINDS.items():
        for size in SIZES:
            spent, gaps = asyncio.run(check(schema, make(size)))
            holds = "holds" if max(gaps.of_the_loop, gaps.of_a_thread) <= WANTED else "**misses**"
            figures = f"{spent:.1f} | {gaps.of_a_slice:.1f} | {gaps.of_the_loop:.1f} | {gaps.of_a_thread:.1f}"
            print(f"| {kind} | {size:,} | {figures} | {holds} |", flush=True)


if __name__ == "__main__":
    main()
