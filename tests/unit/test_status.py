"""The status of a plan follows this table."""

import ast
from pathlib import Path

import pytest
from msgspec.structs import replace

import soorma_ai
from soorma_ai.errors import IllegalTransition
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from unit.kit import HOUR, NOW, plan

STATUSES = ("pending", "running", "paused", "completed", "failed", "cancelled")
# The next status for each status in the order above; empty for an illegal move.
TABLE: dict[str, tuple[str, ...]] = {
    "go": ("running", "running", "running", "", "", ""),
    "rest": ("paused", "paused", "paused", "", "", ""),
    "complete": ("", "completed", "", "", "", ""),
    "fail": ("failed", "failed", "failed", "", "", ""),
    "cancel": ("cancelled", "cancelled", "cancelled", "", "", ""),
}
CELLS = [(status, trigger, to) for trigger, row in TABLE.items() for status, to in zip(STATUSES, row, strict=True)]


@pytest.mark.parametrize(("status", "trigger", "to"), CELLS)
def test_a_trigger_moves_a_status_along_the_table_or_is_refused(status: str, trigger: str, to: str) -> None:
    before = plan(status)
    if to:
        after = move(before, StatusTrigger(trigger), NOW + HOUR)
        assert (after.status, after.updated_at) == (to, NOW + HOUR)
        return
    with pytest.raises(IllegalTransition, match=f"plan p-1 is {status}, and {trigger} is not possible"):
        move(before, StatusTrigger(trigger), NOW + HOUR)
    assert before == plan(status)


@pytest.mark.parametrize(("trigger", "is_left"), [("go", True), ("rest", True), ("complete", False), ("fail", False)])
def test_an_ended_plan_has_no_reservation_for_a_next_call(trigger: str, is_left: bool) -> None:
    before = replace(plan("running"), next_call=Charge("p-1", 1, 100, 0.1))
    assert move(before, StatusTrigger(trigger), NOW).next_call == (before.next_call if is_left else None)


def test_the_table_has_every_status_and_every_trigger() -> None:
    assert set(STATUSES) == set(PlanStatus)
    assert TABLE.keys() == set(StatusTrigger)
    assert {s for s in PlanStatus if s.is_final} == {"completed", "failed", "cancelled"}


def test_no_other_module_sets_the_status_of_a_plan() -> None:
    """Code that sets the status of an expectation names `ExpectationStatus`."""
    package = Path(soorma_ai.__file__).parent
    found = {
        str(module.relative_to(package))
        for module in package.rglob("*.py")
        for call in ast.walk(ast.parse(module.read_text()))
        if isinstance(call, ast.Call) and sets_status(call)
    }
    assert found == {"kernel/rules/plans/status.py", "kernel/rules/plans/lifecycle.py"}


def sets_status(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    given = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == "status"]
    return name in ("replace", "PlanRecord") and any("ExpectationStatus" not in value for value in given)
