"""A task and its sub-tasks: a row each, read as they are needed."""

import dataclasses

import pytest
from msgspec.structs import replace
from store_kit import NOW, do, event

from soorma_ai.errors import VersionConflict
from soorma_ai.kernel.domain.effects import EndTask, SaveSubTask, SaveTask
from soorma_ai.kernel.domain.tasks import Group, SubTaskInfo, TaskRecord
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.task import task_of

TASK = replace(
    task_of(event("t-1", data={"deep": [1, {"ü": None}]}), "worker", "work.done", NOW),
    state={"group": "g-1"},
    sub_tasks=4,
    pending=2,
    groups=(Group("g-1", 1, 3, 2),),
)
ASKED = [SubTaskInfo(f"s-{n}", "part", "part.done", parallel_group_id="g-1" if n else None) for n in range(4)]
CAME = dataclasses.replace(ASKED[1], status="completed", result={"success": True, "result": [1, None]})


async def save_task(store: Store, task: TaskRecord = TASK, asked: list[SubTaskInfo] = ASKED) -> None:
    of = (task.agent, task.task_id)
    await do(store, SaveTask(task, None), *(SaveSubTask(*of, number, info) for number, info in enumerate(asked)))


async def test_a_task_is_read_as_it_was_saved_until_it_has_ended(store: Store) -> None:
    await save_task(store)
    await save_task(store, replace(TASK, agent="other", pending=None, groups=()), ASKED[:1])
    assert await store.plans.task("worker", "t-1") == TASK
    assert sorted(await store.plans.agents_of_task("t-1")) == ["other", "worker"]
    await do(store, EndTask("worker", "t-1"))
    assert await store.plans.task("worker", "t-1") is None
    assert await store.plans.sub_tasks("worker", "t-1") == []
    assert await store.plans.sub_tasks("other", "t-1") == ASKED[:1]


@pytest.mark.parametrize("given", [(), (0,), (2,), (1, 2), (3, 3), (2, 9), (9,), (3, 1)])
async def test_sub_tasks_are_read_by_their_numbers(store: Store, given: tuple[int, ...]) -> None:
    await save_task(store)
    first, last = (*given, *(0, len(ASKED) - 1)[len(given) :])
    assert await store.plans.sub_tasks("worker", "t-1", *given) == ASKED[first : last + 1]


async def test_a_result_changes_the_row_of_its_sub_task_alone(store: Store) -> None:
    await save_task(store)
    came = replace(TASK, version=1, pending=1, groups=(Group("g-1", 1, 3, 1),))
    await do(store, SaveTask(came, 0), SaveSubTask("worker", "t-1", 1, CAME))
    assert await store.plans.sub_tasks("worker", "t-1") == [ASKED[0], CAME, *ASKED[2:]]
    assert await store.plans.task("worker", "t-1") == came


async def test_a_writer_with_a_stale_read_of_a_task_changes_nothing(store: Store) -> None:
    await save_task(store)
    await do(store, SaveTask(replace(TASK, version=1), 0))
    for late in (SaveTask(replace(TASK, version=1), 0), SaveTask(TASK, None)):
        with pytest.raises(VersionConflict):
            await do(store, late, SaveSubTask("worker", "t-1", 1, CAME))
    assert await store.plans.sub_tasks("worker", "t-1") == ASKED


async def test_a_later_look_reads_all_sub_tasks(store: Store) -> None:
    await save_task(store)
    look = await store.plans.sub_tasks_later("worker", "t-1")
    assert look() == look() == ASKED
    nobody = await store.plans.sub_tasks_later("worker", "nobody's")
    assert nobody() == []
