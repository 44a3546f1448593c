"""Working copy of a task's requests: the read, changed and added ones. The others are not read, so one result of a
thousand costs no more than one of two."""

from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from types import MappingProxyType

from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.rules.task import count, count_anew, is_pending

ReadSome = Callable[[int, int], Awaitable[list[SubTaskInfo]]]
ReadAll = Callable[[], list[SubTaskInfo]]


class SubTasks:
    """Sub-tasks by their numbers. They are changed in place, by the task's author as well; `changes` finds the changes.

    `read_some` reads those from one number to another; `read_all` reads on the spot, since an access to all of them may
    be in the middle of an expression.
    """

    def __init__(self, record: TaskRecord, read_some: ReadSome, read_all: ReadAll) -> None:
        self.asked = record.sub_tasks
        self._record = record
        self._read_some = read_some
        self._read_all = read_all
        self._to_be_stored: Mapping[int, SubTaskInfo] = {}
        self._known: dict[int, SubTaskInfo] = {}
        self._as_stored: dict[int, dict[str, object]] = {}
        self._had_ended: dict[int, bool] = {}
        self._by_id: dict[str, SubTaskInfo] = {}
        self._knows_all = not self.asked

    @classmethod
    def none(cls, record: TaskRecord) -> "SubTasks":
        """Return those of a task that has asked for nothing yet."""

        async def some(first: int, last: int) -> list[SubTaskInfo]:
            return []

        return cls(record, some, list)

    def after(self, record: TaskRecord, changed: Mapping[int, SubTaskInfo]) -> "SubTasks":
        """Return the working copy after this stored record and these changes, without later changes of this one."""
        again = SubTasks(record, self._read_some, self._read_all)
        again._to_be_stored = {**self._to_be_stored, **changed}
        return again

    def all(self) -> Mapping[str, SubTaskInfo]:
        """Return all of them by their ids, in the order of asking."""
        if not self._knows_all:
            for number, info in enumerate(self._read_all()):
                self._keep(number, info)
            self._by_id = {info.sub_task_id: info for _, info in sorted(self._known.items())}
            self._knows_all = True
        return MappingProxyType(self._by_id)

    def find(self, sub_task_id: str) -> SubTaskInfo | None:
        return self._by_id.get(sub_task_id) or self.all().get(sub_task_id)

    async def look_up(self, number: int, sub_task_id: str) -> SubTaskInfo | None:
        """Return one by its number. An expectation from before these were kept does not say it."""
        if not self._knows_all:
            await self._read(number, number)
        return self.find(sub_task_id)

    def add(self, info: SubTaskInfo) -> None:
        self._known[self.asked] = self._by_id[info.sub_task_id] = info
        self.asked += 1

    async def group(self, group_id: str | None) -> list[SubTaskInfo]:
        """Return a complete group; else nothing. None: those asked one by one."""
        if self.is_pending(group_id):
            return []
        ended_now = next((group for group in self._record.groups if group.group_id == group_id), None)
        if ended_now is None:
            self.all()
        elif not self._knows_all:
            await self._read(ended_now.first, ended_now.last)
        return self._of_group(group_id)

    def group_now(self, group_id: str | None) -> list[SubTaskInfo]:
        """Return it, as `group` does, on the spot."""
        if self.is_pending(group_id):
            return []
        self.all()
        return self._of_group(group_id)

    def is_pending(self, group_id: str | None) -> bool:
        return is_pending(self.record_now(), group_id)

    def record_now(self) -> TaskRecord:
        """Return the task's record with its counts as they are now."""
        changed = self.changes()
        is_open_again = any(self._had_ended.get(number) and not info.has_ended for number, info in changed.items())
        if self._record.pending is None or is_open_again:
            self.all()
            return count_anew(self._record, self._known)
        return count(self._record, self._had_ended, changed)

    def changes(self) -> dict[int, SubTaskInfo]:
        """Return the changed ones, by their numbers."""
        return {number: info for number, info in self._known.items() if self._as_stored.get(number) != vars(info)}

    def _of_group(self, group_id: str | None) -> list[SubTaskInfo]:
        return [info for _, info in sorted(self._known.items()) if info.parallel_group_id == group_id]

    async def _read(self, first: int, last: int) -> None:
        if any(number not in self._known for number in range(first, last + 1)):
            for number, info in enumerate(await self._read_some(first, last), first):
                self._keep(number, info)

    def _keep(self, number: int, info: SubTaskInfo) -> None:
        """Keep one as it is stored, or is about to be, unless it is known already, and may have changed here."""
        if number not in self._known:
            info = copy(self._to_be_stored[number]) if number in self._to_be_stored else info
            self._known[number] = self._by_id[info.sub_task_id] = info
            # Where all are looked at for every result, this is done to all: in the cheapest way.
            self._as_stored[number], self._had_ended[number] = vars(info).copy(), info.has_ended
