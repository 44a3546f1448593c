"""Progress of plans, from stored rows in any order."""

import itertools
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from soorma_ai.context_parts.progress import ActionStatus
from soorma_ai.features.tracking.progress import (
    action,
    group,
    progress,
    replies_by_key,
    reports_of,
    requests_of,
    timeline,
    tree,
)
from soorma_ai.features.tracking.trace import trace
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus, Untaken
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import EventHandling
from unit.kit import plan
from unit.rows import GOAL, PLAN, Story, at, event, expectation, reply

ASKED = event("work", 1, because=GOAL)
WELL = reply("r", 5, to="work", source="hands", result={"n": 1})
ILL = reply("r", 5, to="work", source="hands", error={"code": "broken", "message": "it is broken"})
STOPPED = reply("r", 5, to="work", source="hands", error={"code": "cancelled", "message": "no longer wanted"})
OPEN, MET, EXPIRED, CLOSED = (
    expectation("work", ExpectationKind.REPLY, 1, None if status is ExpectationStatus.OPEN else 4, status=status)
    for status in ExpectationStatus
)


def handling(*, begun: bool = True, ended: bool = False, dead: bool = False) -> EventHandling:
    return EventHandling("work", "hands", has_begun=begun, has_ended=ended, is_dead=dead)


@pytest.mark.parametrize(
    ("expected", "answer", "taken", "status", "error"),
    [
        (OPEN, None, [], "pending", None),
        (OPEN, None, [handling(begun=False)], "pending", None),
        (OPEN, None, [handling()], "running", None),
        (OPEN, WELL, [handling(ended=True)], "running", None),
        (MET, WELL, [handling(ended=True)], "completed", None),
        (MET, None, [], "completed", None),
        (MET, ILL, [handling(ended=True, dead=True)], "failed", "it is broken"),
        (MET, STOPPED, [], "cancelled", "no longer wanted"),
        (EXPIRED, None, [handling()], "timed_out", f"no answer came until {at(3600)}"),
        (CLOSED, None, [], "cancelled", None),
        (None, WELL, [handling()], "completed", None),
        (None, ILL, [], "failed", "it is broken"),
        (None, None, [handling(ended=True)], "completed", None),
        (None, None, [handling(ended=True), handling(ended=True, dead=True)], "failed", None),
        (None, None, [handling(ended=True), handling()], "running", None),
        (None, None, [], "pending", None),
    ],
)
def test_an_actions_status_follows_its_rows(
    expected: Expectation | None,
    answer: EventEnvelope | None,
    taken: Sequence[EventHandling],
    status: str,
    error: str | None,
) -> None:
    found = action(ASKED, expected, answer, taken, None)
    assert (found.status, found.error) == (status, error)
    assert (found.ended_at is not None) is found.status.is_final or not (expected or answer)


def test_an_action_names_its_requester_its_task_and_its_agents() -> None:
    part = replace(MET, task_id="task", group_id="group")
    found = action(ASKED, part, WELL, [handling(), replace(handling(), agent="feet")], None)
    assert (found.asked_by, found.agents, found.parent_id, found.group_id) == (
        ASKED.source,
        ("feet", "hands"),
        "task",
        "group",
    )
    assert (found.requested_at, found.ended_at) == (at(1), at(4))


def test_an_untaken_action_has_its_wait() -> None:
    waiting = Untaken("work", "work", "orders", None, PLAN, None, at(1), at(60))
    found = action(ASKED, OPEN, None, [], None, waiting)
    assert (found.status, found.untaken) == ("pending", waiting)


def test_only_a_plans_own_requests_are_its_actions() -> None:
    other = event("other", 2, because=GOAL, plan_id="child")
    assert requests_of(PLAN, [ASKED, other, WELL]) == [ASKED]


def test_the_first_of_several_replies_counts() -> None:
    assert replies_by_key([WELL, ILL, ASKED])["work", "work.completed"] is WELL


def report(seconds: float, **data: object) -> EventEnvelope:
    made = event(f"p{seconds}", seconds, because="work", type="task.progress")
    given: JsonObject = {"task_id": "work", "progress": seconds / 10, **data}  # type: ignore[dict-item]
    return made.model_copy(update={"topic": EventTopic.SYSTEM_EVENTS, "data": given})


def test_the_latest_report_counts_in_any_order_of_arrival_and_an_invalid_one_never() -> None:
    reports = [report(2), report(5, message="half"), report(3)]
    strange = [report(8, progress="half"), report(9, progress=True), report(7, task_id=5), ASKED]
    for events in itertools.permutations(reports):
        (found,) = reports_of([*events, *strange]).values()
        assert (found.progress, found.message, found.at) == (0.5, "half", at(5))


def test_progress_counts_every_status_and_a_late_report_changes_none() -> None:
    done = action(ASKED, MET, WELL, (), reports_of([report(9)]).get(ASKED.id))
    waits = action(event("more", 2, because=GOAL), None, None, (), None)
    found = progress(plan(), [done, waits])
    assert (found.total, found.done, set(found.counts)) == (2, 1, set(ActionStatus))
    assert {status: count for status, count in found.counts.items() if count} == {"completed": 1, "pending": 1}
    assert [(one, report.progress) for one, report in found.reports.items()] == [("work", 0.9)]


def test_a_group_counts_its_replies_and_names_the_missing_ones() -> None:
    members = [replace(one, id=name, task_id="task") for name, one in (("a", MET), ("b", OPEN), ("c", EXPIRED))]
    found = group("g", members, [])
    assert (found.task_id, found.total, found.came, found.missing) == ("task", 3, 1, ("b",))


def test_the_timeline_is_in_order_of_time_with_requests_replies_and_the_end() -> None:
    story = Story()
    story.step(StepKind.GOAL, 0, GOAL, "order.place")
    story.step(StepKind.PUBLISHED, 1, "work", "work", to="work")
    story.step(StepKind.COMPLETED, 9, "r")
    story.expectations.append(replace(MET, met_by="r"))
    entries = timeline(trace(story.details(), [], [ASKED, WELL], at(10)))
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
    assert [entry.kind for entry in entries if entry.kind != "turn"] == ["request", "reply", "end"]


def test_a_tree_has_each_plan_below_its_parent_in_order_of_creation() -> None:
    root, first, inner = plan(), plan(plan_id="b", parent_plan_id="p-1"), plan(plan_id="c", parent_plan_id="b")
    second = plan(plan_id="a", parent_plan_id="p-1", created_at=at(5))
    node = tree(root, [second, inner, root, first])
    assert [child.plan.plan_id for child in node.children] == [first.plan_id, second.plan_id]
    assert [child.plan.plan_id for child in node.children[0].children] == [inner.plan_id]
