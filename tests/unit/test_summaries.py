"""Summaries of tasks and plans: the fields of the design documents, as JSON."""

import json

from msgspec.structs import replace

from soorma_ai.context_parts.summaries import plan_summary, task_summary
from soorma_ai.features.tracking.progress import plan_line
from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from unit.kit import HOUR, NOW, plan
from unit.rows import QUESTION, expectation

TASK = TaskRecord(
    task_id="t",
    agent="clerk",
    event_type="order.requested",
    data={"n": 1},
    lineage=Lineage(tenant_id="acme", user_id="ada", session_id="s-1", goal_id="g", plan_id="p"),
    answer_key="key",
    answer_event="order.done",
    answer_topic=EventTopic.ACTION_RESULTS,
    created_at=NOW,
    state={},
    version=3,
)


def test_a_task_summary_has_sub_tasks_state_and_reply_address() -> None:
    part = SubTaskInfo("s", "part.requested", "part.done", "failed", "g-1", {"success": False})
    told = task_summary(TASK, {"seen": [1]}, [part])
    assert json.loads(json.dumps(told)) == told
    assert (told["state"], told["data"], told["version"]) == ({"seen": [1]}, {"n": 1}, 3)
    assert (told["plan_id"], told["tenant_id"], told["user_id"], told["goal_id"]) == ("p", "acme", "ada", "g")
    assert (told["correlation_id"], told["response_event"]) == ("key", "order.done")
    assert told["sub_tasks"] == {
        "s": {
            "sub_task_id": "s",
            "event_type": "part.requested",
            "response_event": "part.done",
            "status": "failed",
            "parallel_group_id": "g-1",
            "result": {"success": False},
        }
    }


def test_a_plan_summary_has_status_memory_and_deadline() -> None:
    told = plan_summary(plan(deadline=NOW + HOUR, parent_plan_id="above", answer_key="key"), {"step": 1})
    assert json.loads(json.dumps(told)) == told
    assert (told["status"], told["state"], told["goal_data"]) == ("running", {"step": 1}, {"order_id": "A1"})
    assert (told["deadline"], told["parent_plan_id"], told["correlation_id"]) == (
        (NOW + HOUR).isoformat(),
        "above",
        "key",
    )
    assert plan_summary(plan(deadline=None), {})["deadline"] is None


def test_a_line_of_a_list_names_the_people_and_events_its_plan_waits_for() -> None:
    asked = replace(QUESTION, approvers=("manager",))
    gate = expectation("gate", ExpectationKind.GATE, 0, subject="pay", ask=asked)
    wait = expectation("wait", ExpectationKind.WAIT, 0, event_type="order.paid", ask=replace(asked, approvers=()))
    answer = expectation("q", ExpectationKind.REPLY, 0, subject="reserve", producers=("stock",))
    told = plan_line(plan(), Spent(tokens=7), [gate, wait, answer, expectation("j", ExpectationKind.JOIN, 0)])
    assert (told.plan_id, told.spent.tokens) == (plan().plan_id, 7)
    assert [(one.kind, one.what, one.whom) for one in told.awaits] == [
        (ExpectationKind.GATE, "pay", ("manager",)),
        (ExpectationKind.WAIT, "order.paid", ()),
        (ExpectationKind.REPLY, "reserve", ("stock",)),
    ]
