"""Progress of long work on stderr: a bar on a terminal, into a file or a pipe a line for each change."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeVar

from msgspec import Struct
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from soorma_ai.context_parts.progress import Action, ActionStatus, PlanProgress
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import DIM, Printer

LOOK_SECONDS = 1.0
MOST_REPORTS = 2

T = TypeVar("T")


class Stage(Struct, frozen=True):
    """A share of the whole from 0 to 1, None where it is unknown, and words about it."""

    share: float | None
    words: str


class ProgressView(AbstractContextManager["ProgressView"]):
    """Shows stages of one piece of work, until the block ends."""

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._printer = Printer(stderr=True)
        self._is_quiet = is_quiet
        self._last = ""
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, stage: Stage) -> None:
        if self._is_quiet or not stage.words:
            return
        if not self._printer.is_plain:
            self._draw(stage)
        elif stage.words != self._last:
            self._printer.line((stage.words, DIM))
        self._last = stage.words

    def _draw(self, stage: Stage) -> None:
        if self._bar is None:
            columns = BarColumn(bar_width=20), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
            self._bar = Progress(*columns, console=self._printer.console, transient=True)
            self._task = self._bar.add_task(stage.words, total=None)
            self._bar.start()
        if self._task is not None:
            total, done = (None, 0.0) if stage.share is None else (1.0, stage.share)
            self._bar.update(self._task, description=stage.words, total=total, completed=done)


async def watched(
    work: Awaitable[T], look: Callable[[], Awaitable[Stage]], view: ProgressView, seconds: float = LOOK_SECONDS
) -> T:
    """Return the outcome of some work, and show its stages meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=seconds))[0]:
            view.show(await look())
        return task.result()
    finally:
        task.cancel()


def stage_of_plan(found: PlanProgress) -> Stage:
    """Return the stage of a plan: requests by status, and the reports of running ones."""
    if not found.total:
        return Stage(None, f"plan {found.status}")
    running, failed = found.counts[ActionStatus.RUNNING], found.counts[ActionStatus.FAILED]
    words = f"{found.done} of {found.total} requests done, {running} running, {failed} failed"
    reports = [one for one in found.reports.values() if one.progress < 1][:MOST_REPORTS]
    told = [f"{one.progress:.0%} {one_line(one.message)}".strip() for one in reports]
    share = found.done + sum(one.progress for one in found.reports.values() if one.progress < 1)
    return Stage(min(1.0, share / found.total), "; ".join((words, *told)))


def stage_of_request(found: Action) -> Stage:
    """Return the stage of a request: its last report, or its status."""
    if found.report is not None:
        return Stage(found.report.progress, f"{found.report.progress:.0%} {one_line(found.report.message)}".strip())
    if found.untaken is not None:
        return Stage(None, "no agent takes it yet")
    agents = ", ".join(map(one_line, found.agents))
    return Stage(None, f"{found.status} at {agents}" if agents else str(found.status))
