"""Waiting tasks, and their requests to others."""

import sys
from collections.abc import Iterable

from soorma_ai.errors import VersionConflict
from soorma_ai.kernel.domain.effects import SaveSubTask, SaveTask
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.sql.codec import SUB_TASK, TASK, add_row
from soorma_ai.kernel.sql.connection import Reader


def task(db: Reader, agent: str, task_id: str) -> TaskRecord | None:
    row = db.execute("SELECT body FROM task WHERE agent = ? AND task_id = ?", (agent, task_id)).fetchone()
    return TASK.record(row[0]) if row else None


def sub_tasks(db: Reader, agent: str, task_id: str, first: int = 0, last: int | None = None) -> list[SubTaskInfo]:
    return parse(sub_task_texts(db, agent, task_id, first, last))


def sub_task_texts(db: Reader, agent: str, task_id: str, first: int = 0, last: int | None = None) -> list[str]:
    found = db.execute(
        "SELECT body FROM sub_task WHERE agent = ? AND task_id = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal",
        (agent, task_id, first, sys.maxsize if last is None else last),
    )
    return [body for (body,) in found.fetchall()]


def parse(texts: Iterable[str]) -> list[SubTaskInfo]:
    return [SUB_TASK.record(text) for text in texts]


def of_tree(db: Reader, root_plan_id: str) -> list[TaskRecord]:
    found = db.execute("SELECT body FROM task WHERE root_plan_id = ?", (root_plan_id,))
    return [TASK.record(body) for (body,) in found.fetchall()]


def agents_of(db: Reader, task_id: str) -> list[str]:
    return [agent for (agent,) in db.execute("SELECT agent FROM task WHERE task_id = ?", (task_id,)).fetchall()]


def save(db: Reader, effect: SaveTask) -> None:
    task = effect.task
    if effect.expected_version is None:
        done = add_row(
            db,
            "task",
            "ON CONFLICT DO NOTHING",
            agent=task.agent,
            task_id=task.task_id,
            tenant=task.lineage.tenant_id,
            root_plan_id=task.lineage.root_plan_id,
            version=task.version,
            body=TASK.text(task),
        )
    else:
        done = db.execute(
            "UPDATE task SET version = ?, body = ? WHERE agent = ? AND task_id = ? AND version = ?",
            (task.version, TASK.text(task), task.agent, task.task_id, effect.expected_version),
        )
    if done.rowcount == 0:
        raise VersionConflict(f"task {task.task_id} of {task.agent} has changed since it was read; read it again")


def save_sub_task(db: Reader, effect: SaveSubTask) -> None:
    db.execute(
        "INSERT INTO sub_task (agent, task_id, ordinal, body) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (agent, task_id, ordinal) DO UPDATE SET body = excluded.body",
        (effect.agent, effect.task_id, effect.ordinal, SUB_TASK.text(effect.sub_task)),
    )


def end(db: Reader, agent: str, task_id: str) -> None:
    db.execute("DELETE FROM task WHERE agent = ? AND task_id = ?", (agent, task_id))
    db.execute("DELETE FROM sub_task WHERE agent = ? AND task_id = ?", (agent, task_id))
