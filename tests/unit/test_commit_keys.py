"""Keys of commits: two without a common key may run at the same time."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Ack, AppendStep, Declare, Effect, Expect, Publish, SavePlan, Spend
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.memory import MemoryKey, StoreMemory
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.ports import Delivery, Work
from soorma_ai.kernel.sql.commit_keys import keys_of_events, keys_of_work

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def event(event_id: str, **more: Any) -> EventEnvelope:
    given: dict[str, Any] = {
        "type": "work.asked",
        "topic": EventTopic.ACTION_REQUESTS,
        "source": "shop",
        "time": NOW,
        **more,
    }
    return EventEnvelope(id=event_id, **given)


def delivery(event: EventEnvelope, owner: str = "") -> Delivery:
    return Delivery(1, "worker", owner or event.id, event, 1, 1)


def expectation(**more: Any) -> Expectation:
    made = Expectation(
        id="q-1",
        plan_id=None,
        root_plan_id=None,
        deadline=None,
        kind=ExpectationKind.REPLY,
        agent="planner",
        tenant_id="default",
        event_type="work.done",
        event_topic=EventTopic.ACTION_RESULTS,
        opened_at=NOW,
        subject="work.asked",
    )
    return replace(made, **more)


def plan(session_id: str | None = None) -> PlanRecord:
    return PlanRecord(
        plan_id="child",
        agent="planner",
        agent_version="1",
        status=PlanStatus.RUNNING,
        goal_id="g",
        goal_event="goal.given",
        goal_data={},
        lineage=Lineage(plan_id="child", root_plan_id="root", session_id=session_id),
        limits=Limits(),
        created_at=NOW,
        updated_at=NOW,
        root_plan_id="root",
    )


def keys(*effects: Effect, of: Delivery | None = None) -> frozenset[str] | None:
    return keys_of_work(Work(of or delivery(event("e-1")), Ack(), effects))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (delivery(event("e-1", root_plan_id="root", plan_id="child"), "child"), {"root", "child"}),
        (delivery(event("e-1", correlation_id="asked")), {"e-1", "asked"}),
        (delivery(event("e-1")), {"e-1"}),
    ],
    ids=["of a plan", "of a request", "of neither"],
)
def test_a_delivery_has_the_keys_of_its_line_and_of_its_event(given: Delivery, expected: set[str]) -> None:
    assert keys(of=given) == expected


@pytest.mark.parametrize(
    ("effect", "key"),
    [
        (Publish(event("e-2", root_plan_id="other")), "other"),
        (Publish(event("e-2", correlation_id="asked")), "asked"),
        (Publish(event("e-2")), "e-2"),
        (Publish(event("e-2", root_plan_id="e-1", plan_id="child")), "child"),
        (SavePlan(plan(), None), "root"),
        (Expect(expectation(root_plan_id="root", plan_id="child")), "root"),
        (Expect(expectation(task_id="task")), "task"),
        (Expect(expectation()), "q-1"),
        (Spend("root", 1, None), "root"),
    ],
    ids=str,
)
def test_an_effect_adds_the_key_of_the_rows_that_it_changes(effect: Effect, key: str) -> None:
    assert keys(effect) == {"e-1", key}


@pytest.mark.parametrize(
    "effect",
    [
        StoreMemory(MemoryKey("default", "", "key"), 1),
        Declare("worker", EventDefinition(event_name="order.paid")),
        SavePlan(plan("session"), 0),
    ],
    ids=lambda effect: type(effect).__name__,
)
def test_a_commit_about_anything_beyond_its_tree_runs_alone(effect: Effect) -> None:
    assert keys(AppendStep(Step("child", 0, StepKind.GOAL, NOW)), effect) is None


def test_a_request_and_the_reply_that_it_expects_have_one_key() -> None:
    request, expected = event("q-1"), expectation()
    assert keys_of_events([request], expected) == {"q-1"}
    assert keys_of_events([event("r-1", correlation_id="q-1")]) == {"q-1"}
