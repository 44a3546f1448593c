"""Effects that a handling records, on top of those of the handlings before it in the same run: none is stored yet."""

import json
from collections.abc import Iterable

from msgspec import Struct

from soorma_ai.errors import LimitExceeded, LocalProtocolError
from soorma_ai.kernel.domain.effects import (
    AppendStep,
    DropValue,
    Effect,
    FeatureEffect,
    Publish,
    SavePlan,
    SaveSubTask,
    SaveTask,
    SaveValue,
)
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.limits import MAX_EVENTS_AT_ONCE, MOST_COMMITTED
from soorma_ai.kernel.domain.memory import MemoryChange
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import Json


class Changes(Struct, frozen=True):
    """Changes of the working copies of a handling; `plan` is its row, if that has changed. Those of a run are in those
    of its last handling, but for `values`."""

    plan: tuple[SavePlan, ...] = ()
    memory: tuple[MemoryChange | FeatureEffect, ...] = ()
    values: tuple[SaveValue | DropValue, ...] = ()


class RecordedEffects:
    """`own` are the effects of this handling alone."""

    def __init__(self, before: Iterable[Effect] = ()) -> None:
        self.before = tuple(before)
        self.own: list[Effect] = []
        self._published = 0
        # Bytes over HTTP of each and those before it.
        self._bytes: list[int] = []

    def add(self, effect: Effect, *, is_remote: bool) -> None:
        """Raise LimitExceeded for more events than one handling may publish, LocalProtocolError where a commit over
        HTTP would not be taken with it."""
        if isinstance(effect, Publish):
            self._published += 1
            if self._published > MAX_EVENTS_AT_ONCE:
                self._must_be_few()
        if is_remote:
            del self._bytes[len(self.own) :]
            size = (self._bytes[-1] if self._bytes else 0) + _size_of(effect)
            must_be_committed(size)
            self._bytes.append(size)
        self.own.append(effect)

    def _must_be_few(self) -> None:
        """Raise LimitExceeded, also where a handler went on that was told so before."""
        if self._published > MAX_EVENTS_AT_ONCE:
            said = f"one handling publishes at most {MAX_EVENTS_AT_ONCE:,} events"
            raise LimitExceeded(
                "events_per_handling", f"{said}; let others do parts of it, each on a request of its own"
            )

    def undo(self, count: int) -> None:
        """Drop the effects after the first `count`."""
        self._published -= sum(isinstance(effect, Publish) for effect in self.own[count:])
        del self.own[count:]

    def rewrite(self, effects: Iterable[Effect]) -> None:
        """Replace the recorded effects of the handling. Raise LimitExceeded as `add` does."""
        if self._published > MAX_EVENTS_AT_ONCE:
            self._must_be_few()
        self.own = list(effects)

    @property
    def all(self) -> tuple[Effect, ...]:
        return (*self.before, *self.own)

    @property
    def steps(self) -> list[Step]:
        return [effect.step for effect in self.all if isinstance(effect, AppendStep)]

    def task_after(self, task: TaskRecord) -> tuple[TaskRecord, dict[int, SubTaskInfo]]:
        """Return the task as this handling leaves it, and those of its sub-tasks that it has changed, by number."""
        saved = [effect.task for effect in self.own if isinstance(effect, SaveTask)]
        changed = {effect.ordinal: effect.sub_task for effect in self.own if isinstance(effect, SaveSubTask)}
        return saved[-1] if saved else task, changed


def must_be_committed(size: int) -> None:
    """Raise LocalProtocolError for more bytes than one commit over HTTP may have."""
    if size > MOST_COMMITTED:
        raise LocalProtocolError(
            f"this handler has recorded {size:,} bytes; {MOST_COMMITTED:,} are taken of an agent that runs elsewhere: "
            "keep large data outside and send where it is, or run the agent beside the store"
        )


def _size_of(effect: Effect) -> int:
    """Return the bytes of an effect in a commit over HTTP, without the frame of its data."""
    match effect:
        case Publish(event):
            return _length(event.data)
        case SaveTask(task):
            return _length(task.state)
        case SaveSubTask(sub_task=info):
            return _length(info.result)
        case _:
            return 0


def _length(value: Json) -> int:
    return len(json.dumps(value, separators=(",", ":")))
