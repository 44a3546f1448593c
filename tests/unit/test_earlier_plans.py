"""Earlier plans of a session, as a later plan's prompt shows them."""

from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.rules.prompting.history import GOAL_CHARS, RESULT_CHARS, tell_earlier
from unit.kit import HOUR, LINEAGE, NOW, plan

NOW_PLAN = plan(created_at=NOW + HOUR)


def before(number: int, status: str = "completed", **changes: Any) -> Any:
    return plan(
        status, **{"plan_id": f"b-{number}", "goal_data": {"n": number}, "result": {"found": number}, **changes}
    )


def test_the_latest_plans_are_shown_oldest_first_with_their_results() -> None:
    plans = [before(3), before(2, "failed", reason="no stock"), before(1)]
    assert tell_earlier(NOW_PLAN, plans, 2) == [
        {"goal": "order.received", "data": {"n": 2}, "status": "failed", "reason": "no stock"},
        {"goal": "order.received", "data": {"n": 3}, "status": "completed", "result": {"found": 3}},
    ]


@pytest.mark.parametrize(
    "other",
    [
        before(1, "running"),
        before(1, parent_plan_id="p"),
        before(1, created_at=NOW + 2 * HOUR),
        before(1, plan_id=NOW_PLAN.plan_id),
        before(1, lineage=replace(LINEAGE, user_id="bob")),
        before(1, lineage=replace(LINEAGE, tenant_id="umbrella")),
        before(1, lineage=replace(LINEAGE, session_id="s-2")),
    ],
)
def test_an_unfinished_child_later_or_foreign_plan_is_not_shown(other: Any) -> None:
    assert tell_earlier(NOW_PLAN, [other], 5) == []


def test_large_goals_and_results_of_earlier_plans_are_cut() -> None:
    huge = {"rows": ["x" * 100] * 10_000}
    told = tell_earlier(NOW_PLAN, [before(n, goal_data=huge, result=huge) for n in range(9)], 3)
    assert len(told) == 3
    assert len(compact(told)) < 3 * (GOAL_CHARS + RESULT_CHARS + 200)
