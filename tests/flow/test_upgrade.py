"""An upgrade check judges open plans and parked requests by new registrations, and changes nothing."""

from pathlib import Path
from typing import Any

import pytest
from kit import order, pursue, running_platform, until
from test_contracts import DONE, FORM, PAY, STRICT, cashier, park, planner, version_of
from test_trials import rows_of

from soorma_ai import EventDefinition, Forbidden, GoalContext, PlanContext, Planner, PlatformContext, Tool
from soorma_ai.adapters.prompts import packaged_prompts
from soorma_ai.features.trials.records import Outcome
from soorma_ai.features.trials.upgrade.rules import upgraded_events
from soorma_ai.kernel.domain.registry import EventRole
from soorma_ai.testing.scripted import publish

WAYS = [{"on_event": f"{PAY}.completed", "to_state": "end"}, {"on_event": "failed", "to_state": "failed"}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def report_on(path: Path, *new: Any) -> Any:
    async with running_platform(path, None) as platform:
        before = rows_of(path)
        found = await platform.check_upgrade([agent.registration() for agent in new])
        assert rows_of(path) == before
        return found


async def test_without_a_change_an_upgrade_is_safe(path: Path) -> None:
    await park(path, publish(PAY, amount=5))
    for new in ((), (cashier(),), (cashier(), planner([]))):
        report = await report_on(path, *new)
        assert (report.is_safe, report.plans, report.held) == (True, 1, 1)
        assert (report.changes, report.broken, report.trials) == ((), (), ())


async def test_a_narrower_event_is_listed_with_its_parked_approval_and_the_refused_last_answer(path: Path) -> None:
    plan_id = await park(path, publish(PAY, amount=5))
    report = await report_on(path, cashier(STRICT, replaces=version_of(FORM)))
    (change,), (broken,), (trial,) = report.changes, report.broken, report.trials
    assert (change.agent, change.kind, change.is_declared) == ("cashier", "narrower", True)
    assert change.reasons == ("$.currency: is required now",)
    assert (broken.kind, broken.plan_id) == ("approval", plan_id)
    assert "currency" in broken.reason
    assert (trial.plan_id, trial.first.outcome, trial.tried) == (plan_id, Outcome.REFUSED, 1)
    assert not report.is_safe


async def test_a_wider_event_is_safe_and_its_prompt_has_other_words(path: Path) -> None:
    await park(path, publish(PAY, amount=5))
    report = await report_on(path, cashier({**FORM, "required": []}))
    assert report.is_safe
    assert [one.kind for one in report.changes] == ["changed"]
    assert [one.first.outcome for one in report.trials] == [Outcome.REWORDED]


async def test_an_event_without_a_taker_breaks_its_approvals_and_the_states_of_plans(path: Path) -> None:
    machine = {
        "start": {"default_next": "paying"},
        "failed": {"is_terminal": True},
        "paying": {"action": {"event_type": PAY, "data": {"amount": 1}}, "transitions": WAYS},
        "end": {"is_terminal": True},
    }
    clerk = Planner("clerk")

    @clerk.on_goal("order.filed", state_machine=machine)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await (await PlanContext.create_from_goal(goal, context)).execute_next()

    async with running_platform(path, None) as platform:
        plan = await pursue(platform, "order.filed", {}, clerk, cashier())
        await until(platform, platform.waits)
    other = Tool("cashier")
    other.on_invoke("refund.wanted")(lambda request, context: {})
    report = await report_on(path, other)
    assert [(one.kind, one.plan_id) for one in report.broken] == [("approval", plan.plan_id), ("state", plan.plan_id)]
    assert {one.reason for one in report.broken} == {"no agent takes it any more"}


async def test_new_prompts_are_told(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await park(path, publish(PAY, amount=5))
    text, folder = (packaged_prompts() / "planner" / "decide.md.j2").read_text(), tmp_path / "prompts" / "planner"
    folder.mkdir(parents=True)
    (folder / "decide.md.j2").write_text(text.replace("You ", "Thou ", 1))
    monkeypatch.setenv("SOORMA_PROMPTS_DIR", str(tmp_path / "prompts"))
    report = await report_on(path)
    assert report.is_safe
    assert [one.first.outcome for one in report.trials] == [Outcome.REWORDED]


async def test_an_upgrade_is_checked_by_operators_alone(path: Path) -> None:
    async with running_platform(path, None) as platform:
        await order(platform, planner([DONE]))
        for roles in ((), ("auditor",)):
            with pytest.raises(Forbidden):
                await platform.as_user(tenant_id="default", user_id="ann", roles=roles).check_upgrade()
        await platform.as_user(tenant_id="default", user_id="ann", roles=("operator",)).check_upgrade()


def test_a_new_registration_takes_the_place_of_its_agents_former_one() -> None:
    old, new = cashier().registration(), cashier(STRICT, description="new words").registration()
    second = Tool("bank")
    second.on_invoke(PAY, payload_schema=FORM, description="others")(lambda request, context: {})
    takings = [("cashier", "action-requests", PAY)]
    events = upgraded_events([old, second.registration()], takings, [new])
    taken = {one.agent: one.definition for one in events if one.role is EventRole.TAKES}
    assert taken["cashier"].payload_schema == EventDefinition(event_name=PAY, payload_schema=STRICT).payload_schema
    assert taken["bank"].description == "new words"
