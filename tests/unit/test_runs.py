"""Runs of deliveries in one commit: conditions for a next handling, and its starting state."""

import pytest

from soorma_ai.kernel.domain.effects import (
    AppendStep,
    Close,
    DropValue,
    Effect,
    EndTask,
    Expect,
    Publish,
    SaveSubTask,
    SaveTask,
    SaveValue,
    Schedule,
    Spend,
)
from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.rules.delivery.route import may_be_followed
from soorma_ai.kernel.rules.fold import fold
from soorma_ai.kernel.runtime.handling.working_copies.plan_values import PlanValues
from soorma_ai.kernel.runtime.handling.working_copies.recorded import RecordedEffects
from soorma_ai.kernel.runtime.handling.working_copies.sub_tasks import SubTasks
from unit.kit import NOW, event, expectation, plan


def step(ordinal: int, fingerprint: str | None = None) -> AppendStep:
    return AppendStep(Step("plan-1", ordinal, StepKind.REPLIED, NOW, fingerprint=fingerprint))


TASK = TaskRecord(
    task_id="task-1",
    agent="clerk",
    event_type="order.requested",
    data={},
    lineage=Lineage(tenant_id="default"),
    answer_key="task-1",
    answer_event="order.done",
    answer_topic=EventTopic.ACTION_RESULTS,
    created_at=NOW,
    state={},
)


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ([], True),
        ([step(1), step(2)], True),
        ([SaveTask(TASK, 0), SaveSubTask("clerk", "task-1", 0, SubTaskInfo("s", "a", "b"))], True),
        ([step(1), Publish(event("part.asked"))], False),
        ([Expect(expectation(id="q-1"))], False),
        ([Close("q-1", ExpectationStatus.CLOSED, NOW)], False),
        ([Spend("plan-1", 1, None)], False),
        ([Schedule("t-1", NOW, event("tick"))], False),
        ([EndTask("clerk", "task-1")], False),
    ],
)
def test_a_handling_with_effects_on_others_is_committed_before_the_next(recorded: list[Effect], expected: bool) -> None:
    assert may_be_followed(recorded) is expected


def test_earlier_effects_of_a_run_are_seen_and_are_not_recorded_again() -> None:
    first = RecordedEffects([step(1, "a"), Expect(expectation(id="q-1")), Spend("plan-1", 2, None)])
    first.own += [step(2, "a"), Close("q-0", ExpectationStatus.CLOSED, NOW), Spend("plan-1", 1, None)]
    assert ([one.ordinal for one in first.steps], len(first.own)) == ([1, 2], 3)
    then = RecordedEffects(first.all)
    assert (len(then.all), then.own) == (6, [])


CHANGED = (ValueKind.STATE, "changed")


def test_values_continue_from_the_stored_ones_and_late_changes_are_lost() -> None:
    state = PlanState(plan(), {(ValueKind.STATE, "kept"): [1], CHANGED: {"n": 1}, (ValueKind.STATE, "dropped"): 1})
    values = PlanValues(state.values)
    values.state["changed"] = {"n": 2}
    values.state["new"] = [1]
    values.results["part"] = 7
    del values.state["dropped"]
    changes = values.changes("plan-1")
    values.state["new"] = "too late"
    values.state["kept"] = "too late"
    then = PlanValues(fold(state, changes).values)
    assert then.state == {"kept": [1], "changed": {"n": 2}, "new": [1]}
    assert then.results == {"part": 7}
    assert then.changes("plan-1") == ()
    then.state["new"] = [1, 2]
    del then.state["kept"]
    assert then.changes("plan-1") == (
        SaveValue("plan-1", ValueKind.STATE, "new", [1, 2]),
        DropValue("plan-1", ValueKind.STATE, "kept"),
    )


def test_an_effect_on_an_unread_value_changes_the_stored_one() -> None:
    kept, dropped, unknown = (ValueKind.STATE, "kept"), (ValueKind.STATE, "dropped"), (ValueKind.STATE, "unknown")
    values = PlanValues({kept: [1], dropped: 1, CHANGED: {"n": 1}})
    for effect in (
        SaveValue("plan-1", *kept, [1]),
        DropValue("plan-1", *dropped),
        DropValue("plan-1", *unknown),
        SaveValue("plan-1", *CHANGED, {"n": 0}),
        SaveValue("plan-1", *CHANGED, {"n": 2}),
    ):
        values.apply(effect)
    changes = SaveValue("plan-1", *CHANGED, {"n": 2}), DropValue("plan-1", *dropped)
    assert values.changes("plan-1") == changes
    assert values.state == {"kept": [1], "changed": {"n": 2}}, "read after the effects"
    assert values.changes("plan-1") == changes


def sub_tasks(count: int) -> tuple[TaskRecord, SubTasks]:
    """A task and its stored sub-tasks of one group."""
    new = SubTasks.none(TASK)
    for number in range(count):
        new.add(SubTaskInfo(f"s-{number}", "part.asked", "part.done", parallel_group_id="g"))
    stored = [SubTaskInfo(**vars(info)) for info in new.all().values()]

    async def some(first: int, last: int) -> list[SubTaskInfo]:
        return stored[first : last + 1]

    record = new.record_now()
    return record, SubTasks(record, some, lambda: stored)


async def receive(parts: SubTasks, number: int) -> SubTaskInfo:
    info = await parts.look_up(number, f"s-{number}")
    assert info is not None
    info.status, info.result = "completed", {"n": number}
    return info


async def test_sub_tasks_continue_from_the_stored_ones_and_late_changes_are_lost() -> None:
    record, parts = sub_tasks(3)
    for number in (2, 0):
        left_behind = await receive(parts, number)
        changes, record = parts.changes(), parts.record_now()
        assert list(changes) == [number]
        after = parts.after(record, {n: SubTaskInfo(**vars(info)) for n, info in changes.items()})
        left_behind.result = {"n": "too late"}
        parts = after
        assert (parts.changes(), parts.record_now()) == ({}, record)
        assert await parts.group("g") == []
    assert record.pending == 1
    await receive(parts, 1)
    assert [info.result for info in await parts.group("g")] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert list(parts.all()) == ["s-0", "s-1", "s-2"]
    assert parts.record_now().pending == 0
