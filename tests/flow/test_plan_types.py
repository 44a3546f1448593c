"""Plan types as data: registered with a planner, or sent with a goal."""

import json
from typing import Any

import pytest
from kit import PATIENCE, payments, pursue, the_wait, wait_for_end
from machines import Web, analyst, research

from soorma_ai import Approval, ConfigError, PlanDefinition, Planner, Platform
from soorma_ai.errors import LocalProtocolError

TOPIC = {"topic": "owls"}
DEFINITION = PlanDefinition(plan_type="research.plan", description="Finds owls.", states=research())
AS_JSON = json.loads(DEFINITION.model_dump_json())
CHARGE: dict[str, Any] = {
    "plan_type": "charge",
    "states": {
        "start": {
            "action": {"event_type": "payment.charge.requested", "data": {"amount": "{goal_data.amount}"}},
            "transitions": [{"on_event": "payment.charge.requested.completed", "to_state": "end"}],
        },
        "end": {"is_terminal": True, "result": "{results.start.charged}"},
    },
}


def tracker(*types: Any) -> Planner:
    planner = Planner("tracker")
    for one in types:
        planner.add_plan_type(one)
    planner.accept_plan_types()
    return planner


@pytest.mark.parametrize("definition", [DEFINITION, AS_JSON], ids=["object", "json"])
async def test_a_registered_plan_type_is_a_goal_of_its_name_with_its_machine(
    platform: Platform, definition: Any
) -> None:
    plan = await pursue(platform, "research.plan", TOPIC, tracker(definition), Web("found"), analyst())
    assert set(await plan.result(timeout=PATIENCE)) == {"searching", "analyzing"}
    known = [one.definition for one in await platform.registry.events()]
    goals = {one.event_name: one.description for one in known}
    assert goals["research.plan"] == "Finds owls."


async def test_a_goal_brings_its_own_plan_type_and_its_templates_see_the_other_data(platform: Platform) -> None:
    sent = {"plan": AS_JSON, **TOPIC}
    plan = await pursue(platform, "plan.requested", sent, tracker(), Web("found"), analyst())
    assert set(await plan.result(timeout=PATIENCE)) == {"searching", "analyzing"}


async def test_requests_of_a_sent_plan_type_are_held_for_their_approval(platform: Platform) -> None:
    charged: list[Any] = []
    tool = payments(Approval(approvers=("manager",)), charged)
    plan = await pursue(platform, "plan.requested", {"plan": CHARGE, "amount": 7}, tracker(), tool)
    question = await the_wait(platform)
    assert (question.proposed_event, question.approvers, charged) == ("payment.charge.requested", ("manager",), [])
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == 7


async def test_a_faulty_plan_type_of_a_goal_fails_its_plan_with_every_fault(platform: Platform) -> None:
    states = {"start": {"transitions": [{"on_event": "x", "to_state": "nowhere", "condition": "("}]}}
    sent = {"plan": {"plan_type": "faulty", "states": states}}
    plan = await pursue(platform, "plan.requested", sent, tracker())
    reason = str((await wait_for_end(platform, plan.plan_id)).reason)
    assert "'nowhere'" in reason and "no CEL expression" in reason
    assert (await platform.plan(plan.plan_id)).status == "failed" and await platform.plans(status="active") == []


@pytest.mark.parametrize("plan", [None, "x", {}, {"plan_type": "x"}, {"plan_type": "", "states": {}}])
async def test_a_goal_without_a_plan_type_is_refused(platform: Platform, plan: Any) -> None:
    await platform.start(tracker())
    with pytest.raises(LocalProtocolError, match="plan"):
        await platform.submit("plan.requested", {"plan": plan})


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        ([], "a plan type is a mapping by names"),
        ({"plan_type": "x"}, "the states of a plan type is a mapping by names"),
        ({"states": {"start": {"is_terminal": True}}}, "plan_type: Field required"),
        ({"plan_type": "x", "states": {"start": {"transitions": 1}}}, "start.transitions"),
        ({"plan_type": "x", "states": {"end": {"is_terminal": True}}}, "no state 'start'"),
    ],
)
def test_a_faulty_plan_type_is_refused_at_its_registration(definition: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Planner("tracker").add_plan_type(definition)


def test_two_plan_types_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"takes the goal 'research\.plan' already"):
        tracker(DEFINITION, AS_JSON)
