"""The three agents meet the eleven points of an agent of phases, in order. Their journeys are in `test_forge.py`."""

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import pytest
from kit import until
from phased import seen
from test_forge import ALL, BRIEF, scripted_agent, walk

from soorma_ai import Platform
from soorma_ai.features.phases.agent import PhaseAgent
from soorma_ai.features.phases.records import BasePhaseContext
from soorma_ai.features.phases.rules import in_order, name_of

AGENTS = [kind for kind, _ in ALL]
each = pytest.mark.parametrize("kind", AGENTS)
journeys = pytest.mark.parametrize(("kind", "script"), ALL)


@each
def test_1_its_phases_are_an_enum_with_complete(kind: Any) -> None:
    agent = scripted_agent(kind, [])
    assert issubclass(agent.Phase, Enum)
    assert "COMPLETE" in agent.Phase.__members__
    assert agent.complete_phase is agent.Phase.COMPLETE
    assert agent.initial_phase in agent.Phase


@each
def test_2_its_transitions_lead_forward_to_the_end_and_back(kind: Any) -> None:
    agent = scripted_agent(kind, [])
    assert any(one.is_backward for one in agent.phase_transitions)
    for phase in agent.Phase:
        assert bool(in_order(agent.graph, name_of(phase))) is (phase is not agent.complete_phase)


@each
def test_3_the_context_is_a_dataclass_with_fields_of_its_own(kind: Any) -> None:
    context = scripted_agent(kind, [])._create_phase_context()
    assert is_dataclass(context) and isinstance(context, BasePhaseContext)
    assert len(fields(context)) > len(fields(BasePhaseContext))


@each
@pytest.mark.parametrize(
    "method", ["_execute_phase", "_get_phase_prompt", "_get_phase_tools", "_evaluate_transition_condition"]
)
def test_4_to_7_it_runs_prompts_tools_and_conditions_of_its_own(kind: Any, method: str) -> None:
    assert getattr(kind, method) is not getattr(PhaseAgent, method)


@journeys
async def test_5_a_prompt_of_a_later_visit_differs(platform: Platform, kind: Any, script: list[Any]) -> None:
    agent = scripted_agent(kind, script)
    await walk(platform, agent)
    prompts = {question.messages[0].content for question in agent.reasoner.questions}
    again = {prompt for prompt in prompts if "You are returning to the" in prompt}
    assert again and prompts - again


@each
def test_6_every_phase_has_its_tools_and_the_form_of_its_work(kind: Any) -> None:
    agent = scripted_agent(kind, [])
    for phase in agent.Phase:
        assert isinstance(agent._get_phase_tools(phase), list)
        assert (agent._get_work_schema(phase) is None) is (phase is agent.complete_phase)


@journeys
async def test_7_every_condition_is_decided_by_the_agent(platform: Platform, kind: Any, script: list[Any]) -> None:
    agent = scripted_agent(kind, script)
    await walk(platform, agent)
    conditions = {record.reason for record in agent.transition_history}
    assert conditions == {one.condition for one in agent.phase_transitions}
    assert {record.decided_by for record in agent.transition_history} == {"method"}


@journeys
async def test_8_its_first_phase_waits_for_a_person(platform: Platform, kind: Any, script: list[Any]) -> None:
    agent = scripted_agent(kind, script)
    await platform.start(agent)
    await agent.initialize(BRIEF)

    async def is_asked() -> bool:
        return bool(await platform.waits())

    await until(platform, is_asked)
    if not script[0]["step"]["action"].startswith("complete"):
        async for _ in agent.process_message("Sparrows."):
            pass
    (asked,) = await platform.waits()
    assert asked.reason.startswith("checkpoint:")


@journeys
async def test_9_each_use_of_a_tool_is_shown(platform: Platform, kind: Any, script: list[Any]) -> None:
    agent = scripted_agent(kind, script)
    await walk(platform, agent)
    told = await seen(platform)
    started = [event.data["tool_name"] for event in told if event.type == "tool.start"]
    ended = [event.data["tool_name"] for event in told if event.type in ("tool.success", "tool.error")]
    assert sorted(started) == sorted(ended)


@journeys
async def test_10_its_state_goes_there_and_back(platform: Platform, kind: Any, script: list[Any]) -> None:
    agent = scripted_agent(kind, script)
    await walk(platform, agent)
    state = agent.get_state()
    again = scripted_agent(kind, [], name="again")
    await platform.start(again)
    await again.restore_state(state, platform)
    assert again.get_state() == state
    assert again.phase_context == agent.phase_context


@each
def test_11_there_are_tests_of_all_transitions_and_of_coming_back(kind: Any) -> None:
    import test_forge

    for name in ("edge_of_the_graph_is_walked", "after_a_way_back_holds_its_phase_its_reason_and_the_work_done"):
        (test,) = [getattr(test_forge, one) for one in dir(test_forge) if one.endswith(name)]
        assert kind.__name__ in str(test.pytestmark)
