"""A journey through phases is a plan: it goes back, stops for people, shows its thoughts, survives a restart."""

import asyncio
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, as_time_passes, kill_platform, open_platform, the_wait, until, wait_for_end
from phased import BRIEF, Phase, Writer, library, seen, stranger

from soorma_ai import (
    InvocationContext,
    Limits,
    LocalProtocolError,
    NotFound,
    PlanFailed,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.features.phases.records import Checkpoint, CheckpointKind, PhaseTransition
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait

SEARCH = publish("library.search.requested", words="owls")
PLANNED = complete({"questions": ["What do owls eat?"]})
FOUND = complete({"answers": ["mice"]})
WRITTEN = complete({"text": "Owls eat mice."})
STRAIGHT = [PLANNED, SEARCH, FOUND, WRITTEN]


async def test_phases_follow_each_other_and_the_last_one_ends_the_plan(platform: Platform) -> None:
    agent = Writer(STRAIGHT)
    await platform.start(agent, library(), stranger())
    journey = await agent.initialize(BRIEF)
    summary = await journey.plan.result(timeout=5)
    assert summary == {
        "PLAN": {"questions": ["What do owls eat?"]},
        "FIND": {"answers": ["mice"]},
        "WRITE": {"text": "Owls eat mice."},
    }
    changes = [(e.data["from_phase"], e.data["to_phase"]) for e in await seen(platform) if e.type == "phase.changed"]
    assert changes == [("PLAN", "FIND"), ("FIND", "WRITE"), ("WRITE", "COMPLETE")]


async def test_people_see_the_thoughts_actions_and_findings_of_an_agent_in_order(platform: Platform) -> None:
    agent = Writer(STRAIGHT)
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await journey.plan.result(timeout=5)
    told = [event.type for event in await seen(platform)]
    assert told == [
        *("agent.thinking", "data.question.added", "phase.changed"),
        *("agent.thinking", "tool.start", "tool.success", "agent.thinking", "phase.changed"),
        *("agent.thinking", "phase.changed", "agent.complete"),
    ]


async def test_a_phase_offers_only_its_own_tools(platform: Platform) -> None:
    agent = Writer(STRAIGHT)
    await platform.start(agent, library(), stranger())
    await (await agent.initialize(BRIEF)).plan.result(timeout=5)
    forms = [str(question.schema) for question in agent.reasoner.questions]  # type: ignore[union-attr]
    assert ["library.search.requested" in form for form in forms] == [False, True, True, False]
    assert not any("rockets" in form for form in forms)
    assert ["person.replied" in form for form in forms] == [True, False, False, False]


async def test_a_tool_outside_of_the_phase_is_refused(platform: Platform) -> None:
    agent = Writer([PLANNED, publish("rockets.launch.requested"), *STRAIGHT[1:]])
    await platform.start(agent, library(), stranger())
    journey = await agent.initialize(BRIEF)
    await journey.plan.result(timeout=5)
    refused = [entry.refusal for entry in (await platform.plan(journey.plan_id)).decisions if entry.is_refused]
    assert len(refused) == 1
    assert "rockets.launch.requested" in refused[0]


GAP = complete({"answers": [], "gap": "Where do owls sleep?"})
MORE_PLANNED = complete({"questions": ["Where do owls sleep?"]})
MORE_FOUND = complete({"answers": ["mice", "in trees"]})
BACK = [PLANNED, GAP, MORE_PLANNED, MORE_FOUND, WRITTEN]


async def test_a_backward_transition_leads_back_with_its_reason_and_the_work_done(platform: Platform) -> None:
    agent = Writer(BACK)
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await journey.plan.result(timeout=5)
    prompts = [question.messages[0].content for question in agent.reasoner.questions]  # type: ignore[union-attr]
    assert "First visit of PLAN." in prompts[0]
    assert "First visit of FIND." in prompts[1]
    assert "You are returning to the PLAN phase." in prompts[2]
    assert "**Why we're back:** gap_found" in prompts[2]
    assert "Where do owls sleep?" in prompts[2].partition("**Detail:**")[2].partition("**Work already")[0]
    assert "What do owls eat?" in prompts[2].partition("**Work already completed:**")[2]
    assert "Do NOT redo work already completed." in prompts[2]
    changed = [event.data for event in await seen(platform) if event.type == "phase.changed"][1]
    assert (changed["is_backward"], changed["reason"], changed["visit"]) == (True, "gap_found", 2)
    assert any("Returning to PLAN: gap_found" in str(event.data) for event in await seen(platform))


async def test_a_backward_trigger_is_cleared_by_the_next_transition(platform: Platform) -> None:
    agent = Writer(BACK)
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await journey.plan.result(timeout=5)
    prompts = [question.messages[0].content for question in agent.reasoner.questions]  # type: ignore[union-attr]
    assert "**Why we're back:** planned" in prompts[3]
    await journey.load()
    assert agent.phase_context.backward_trigger is None
    assert {phase.value: count for phase, count in agent.phase_context.phase_visits.items()} == {
        "PLAN": 2,
        "FIND": 2,
        "WRITE": 1,
        "COMPLETE": 1,
    }
    assert [record.decided_by for record in agent.transition_history] == ["method"] * 5


async def test_work_is_kept_for_each_phase_and_visit(platform: Platform) -> None:
    agent = Writer(BACK)
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await journey.plan.result(timeout=5)
    work = agent.get_state()["mode_data"]["work"] if await journey.load() else None  # type: ignore[index,call-overload]
    assert list(work) == ["FIND:0001", "FIND:0002", "PLAN:0001", "PLAN:0002", "WRITE:0001"]  # type: ignore[arg-type]


async def test_a_phase_entered_too_often_fails_the_plan_by_its_limit(platform: Platform) -> None:
    agent = Writer([PLANNED, *[GAP, MORE_PLANNED] * 5], max_visits={"PLAN": 2})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    with pytest.raises(PlanFailed, match=r"max_visits \(PLAN has been entered 2 times"):
        await journey.plan.result(timeout=5)
    assert [event.type for event in await seen(platform)][-1] == "error"


async def test_too_many_actions_in_a_visit_of_a_phase_fail_the_plan_by_its_limit(platform: Platform) -> None:
    other = publish("library.search.requested", words="mice")
    agent = Writer([PLANNED, SEARCH, other, FOUND], max_actions_per_phase={"FIND": 1})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    with pytest.raises(PlanFailed, match=r"max_actions \(1 of 1 used in visit 1 of FIND"):
        await journey.plan.result(timeout=5)


async def test_the_same_decision_in_another_visit_is_no_repetition(platform: Platform) -> None:
    again = [SEARCH, GAP, MORE_PLANNED] * 3
    agent = Writer([PLANNED, *again, SEARCH, complete({"answers": ["a"] * 9}), WRITTEN], limits=Limits(max_repeats=1))
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await journey.plan.result(timeout=5)


QUESTIONS = Checkpoint("questions", "Are these the questions?")


@pytest.mark.parametrize(
    ("said", "script", "planned"),
    [
        ({"decision": "approve"}, STRAIGHT, ["What do owls eat?"]),
        (
            {"decision": "modify", "modifications": {"questions": ["Do owls fly?"]}},
            [PLANNED, complete({"questions": []}), *STRAIGHT[1:]],
            ["Do owls fly?"],
        ),
        (
            {"decision": "reject", "reason": "too dull"},
            [PLANNED, complete({"questions": ["Why?"]}), SEARCH, MORE_FOUND, WRITTEN],
            ["What do owls eat?", "Why?"],
        ),
    ],
)
async def test_a_person_approves_modifies_or_rejects_at_a_blocking_checkpoint(
    platform: Platform, said: dict[str, Any], script: list[Any], planned: list[str]
) -> None:
    agent = Writer(script, stops={Phase.PLAN: QUESTIONS})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    first = [event.type async for event in agent.process_message()]
    assert first[-2:] == ["phase.checkpoint", "notification.human_input"]
    assert str(agent.current_phase) == "PLAN"
    async for _ in agent.process_message("", said):
        pass
    if said["decision"] != "approve":
        told = agent.reasoner.questions[1].messages[1].content  # type: ignore[union-attr]
        assert ("Do owls fly?" if "modifications" in said else "too dull") in told
        async for _ in agent.process_message("", {"decision": "approve"}):
            pass
    await journey.plan.result(timeout=5)
    await journey.load()
    assert agent.phase_context.planned == planned
    assert agent.phase_context.phase_visits[Phase.PLAN] == 1


async def test_a_rejection_by_a_person_may_send_the_journey_back(platform: Platform) -> None:
    stops = {Phase.FIND: Checkpoint("coverage", "Is this enough?")}
    agent = Writer([PLANNED, FOUND, MORE_PLANNED, MORE_FOUND, WRITTEN], stops=stops)
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    async for _ in agent.process_message():
        pass
    async for _ in agent.process_message("", {"decision": "reject", "reason": "and nests?", "back": "gap_found"}):
        pass
    async for _ in agent.process_message("", {"decision": "approve"}):
        pass
    await journey.plan.result(timeout=5)
    await journey.load()
    taken = [(record.reason, record.decided_by, record.detail) for record in agent.transition_history]
    assert taken[1] == ("gap_found", "person", "and nests?")


async def test_only_an_answer_passes_a_checkpoint_and_no_event_does(platform: Platform) -> None:
    agent = Writer(STRAIGHT, stops={Phase.PLAN: QUESTIONS})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    asked = await the_wait(platform)
    for key in (journey.plan_id, asked.wait_id):
        await platform.publish(
            "notification-events", asked.expected_event, {"approved": True}, plan_id=journey.plan_id, correlation_id=key
        )
    assert (await platform.waits())[0].wait_id == asked.wait_id
    assert await platform.answer(asked.wait_id, {"approved": True}) == "accepted"
    await journey.plan.result(timeout=5)


OPTIONAL = Checkpoint("coverage", "Enough?", kind=CheckpointKind.OPTIONAL, timeout=timedelta(hours=1))


async def test_an_optional_checkpoint_goes_on_after_its_time_and_an_answer_is_late_then(
    platform: Platform, clock: VirtualClock
) -> None:
    agent = Writer(STRAIGHT, stops={Phase.FIND: OPTIONAL})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    asked = await the_wait(platform)
    await clock.advance(timedelta(hours=1).total_seconds())
    await journey.plan.result(timeout=5)
    assert await platform.answer(asked.wait_id, {"approved": False}) in ("late", "superseded")


async def test_an_informational_checkpoint_is_shown_and_waits_for_no_answer(platform: Platform) -> None:
    summary = Checkpoint("summary", "Look!", kind=CheckpointKind.INFORMATIONAL)
    agent = Writer(STRAIGHT, stops={Phase.FIND: summary})
    await platform.start(agent, library())
    await (await agent.initialize(BRIEF)).plan.result(timeout=5)
    (told,) = [event.data for event in await seen(platform) if event.type == "phase.checkpoint"]
    assert (told["checkpoint_id"], told["requires_approval"], told["wait_id"]) == ("summary", False, None)


async def test_a_message_is_kept_and_shown_to_the_model_and_may_send_the_journey_back(platform: Platform) -> None:
    agent = Writer([PLANNED, FOUND, WRITTEN, MORE_PLANNED, MORE_FOUND, WRITTEN], stops={Phase.FIND: OPTIONAL})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    async for _ in agent.process_message():
        pass
    kept = [event.type async for event in agent.process_message("more")]
    assert kept[-1] == "agent.message.kept"
    async for _ in agent.process_message("", {"decision": "approve"}):
        pass
    assert '"more"' in agent.reasoner.questions[2].messages[1].content  # type: ignore[union-attr]
    async for _ in agent.process_message("", {"decision": "approve"}):
        pass
    await journey.plan.result(timeout=5)
    await journey.load()
    back = agent.transition_history[2]
    assert (back.reason, back.decided_by, back.is_backward) == ("people_want_more", "expression", True)


async def test_a_journey_without_a_transition_asks_a_person_and_does_not_spin(platform: Platform) -> None:
    nothing = complete({"questions": []})
    agent = Writer([nothing, nothing, *STRAIGHT])
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    async for _ in agent.process_message():
        pass
    assert len(agent.reasoner.questions) == 1  # type: ignore[union-attr]
    async for _ in agent.process_message("think about food"):
        pass
    assert "think about food" in agent.reasoner.questions[1].messages[1].content  # type: ignore[union-attr]
    async for _ in agent.process_message("once more"):
        pass
    await journey.plan.result(timeout=5)
    assert len(agent.reasoner.questions) == 6  # type: ignore[union-attr]


async def test_the_model_asks_a_person_in_a_phase_that_allows_it(platform: Platform) -> None:
    agent = Writer([wait("person.replied", "Which owls?"), *STRAIGHT])
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    told = [event async for event in agent.process_message()]
    assert [event.data["message"] for event in told if event.type == "agent.speaking"] == ["Which owls?"]
    async for _ in agent.process_message("barn owls"):
        pass
    assert "barn owls" in agent.reasoner.questions[1].messages[1].content  # type: ignore[union-attr]
    await journey.plan.result(timeout=5)


async def test_the_failure_of_a_tool_is_shown_and_the_phase_decides_how_to_go_on(platform: Platform) -> None:
    agent = Writer([PLANNED, publish("library.search.requested", words="dragons"), FOUND, WRITTEN])
    await platform.start(agent, library())
    await (await agent.initialize(BRIEF)).plan.result(timeout=5)
    (told,) = [event.data for event in await seen(platform) if event.type == "tool.error"]
    assert told["tool_name"] == "library.search.requested"
    assert "no such book" in str(told["error"])


async def test_a_journey_is_cancelled_like_every_plan(platform: Platform) -> None:
    agent = Writer(STRAIGHT, stops={Phase.PLAN: QUESTIONS})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await the_wait(platform)
    await platform.cancel(journey.plan_id)
    assert (await wait_for_end(platform, journey.plan_id)).status == "cancelled"
    assert await platform.waits() == []


async def test_an_exported_state_is_that_of_the_journey_and_imports_into_its_plan(platform: Platform) -> None:
    agent = Writer(STRAIGHT, stops={Phase.FIND: QUESTIONS})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    async for _ in agent.process_message():
        pass
    state = agent.get_state()
    assert (state["agent_type"], state["current_phase"]) == ("Writer", "FIND")
    assert [row["to"] for row in state["transition_history"]] == ["FIND"]  # type: ignore[union-attr,index,call-overload]
    restored = await agent.restore_state(state)
    assert restored.plan_id == journey.plan_id
    assert len(await platform.plans()) == 1


async def test_a_state_of_another_store_goes_on_as_one_plan_after_repeated_imports(
    platform: Platform, path: Path, clock: VirtualClock
) -> None:
    stops = {Phase.FIND: QUESTIONS}
    agent = Writer(BACK[:4], stops=stops)
    await platform.start(agent, library())
    await agent.initialize(BRIEF)
    async for _ in agent.process_message():
        pass
    state = agent.get_state()
    async with open_platform(path.with_name("other.db"), clock) as other:
        again = Writer([MORE_FOUND, WRITTEN], stops=stops)
        await other.start(again, library())
        first = await again.restore_state(state)
        second = await again.restore_state(state)
        assert first.plan_id == second.plan_id
        async for _ in again.process_message():
            pass
        assert again.get_state()["transition_history"] == state["transition_history"]
        assert again.phase_context.planned == agent.phase_context.planned
        assert again.phase_context.phase_visits == agent.phase_context.phase_visits
        assert again.journey_brief == BRIEF
        assert "You are returning to the FIND phase" in again.reasoner.questions[0].messages[0].content  # type: ignore[union-attr]
        async for _ in again.process_message("", {"decision": "approve"}):
            pass
        assert (await wait_for_end(other, first.plan_id)).status == "completed"
        assert len(await other.plans()) == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"agent_type": "Cook"}, "one of 'Cook'"),
        ({"current_phase": "DREAM"}, "'DREAM'"),
        ({"current_phase": "COMPLETE"}, "complete"),
        ({"phase_context": {"phase_visits": {"FIND": -1, "PLAN": 1}}}, "visits"),
        ({"phase_context": {"phase_visits": {"FIND": 1}, "planned": 7}}, "planned"),
        ({"transition_history": [{"from": "PLAN"}]}, "a transition of the state"),
    ],
)
async def test_a_state_of_no_use_to_its_agent_is_refused(platform: Platform, change: dict[str, Any], told: str) -> None:
    agent = Writer([])
    await platform.start(agent, library())
    state = {"agent_type": "Writer", "current_phase": "FIND", "phase_context": {"phase_visits": {"FIND": 1}}}
    with pytest.raises(LocalProtocolError, match=told):
        await agent.restore_state({**state, **change})
    assert await platform.plans() == []


async def test_a_goal_with_a_forged_state_begins_no_journey(platform: Platform) -> None:
    agent = Writer([])
    await platform.start(agent, library())
    plan = await platform.submit("writer.wanted", {"brief": BRIEF, "restored": {"agent_type": "Cook"}})
    with pytest.raises(PlanFailed, match="cannot be gone on with"):
        await plan.result(timeout=5)


async def test_only_an_operator_submits_a_state_to_go_on_with(platform: Platform) -> None:
    await platform.start(Writer([]), library())
    state = {"agent_type": "Writer", "current_phase": "FIND", "phase_context": {"phase_visits": {"FIND": 1}}}
    ann = platform.as_user(tenant_id="default", user_id="ann")
    plan = await ann.submit("writer.wanted", {"brief": BRIEF, "restored": state})
    with pytest.raises(PlanFailed, match="operator"):
        await plan.result(timeout=5)


async def test_no_agent_submits_a_state_to_go_on_with(platform: Platform) -> None:
    forger, state = Tool("forger"), {"agent_type": "Writer", "current_phase": "FIND"}

    @forger.on_invoke("forgery.requested")
    async def forge(request: InvocationContext, context: PlatformContext) -> dict[str, str]:
        data = {"brief": BRIEF, "restored": state}
        return {"asked": await context.bus.request("writer.wanted", data, response_event="forged")}

    await platform.start(Writer([]), library(), forger)
    await platform.request("forgery.requested", {}, timeout=PATIENCE)

    async def is_refused() -> bool:
        return [plan.status for plan in await platform.plans()] == ["failed"]

    await until(platform, is_refused)
    assert "only an operator" in ((await platform.plans())[0].reason or "")


async def test_after_a_restart_the_journey_goes_on_in_its_phase(path: Path, clock: VirtualClock) -> None:
    stops = {Phase.FIND: QUESTIONS}
    before = open_platform(path, clock)
    await before.__aenter__()
    agent = Writer([PLANNED, SEARCH, FOUND], stops=stops)
    await before.start(agent, library())
    journey = await agent.initialize(BRIEF)
    async for _ in agent.process_message():
        pass
    await kill_platform(before)
    async with open_platform(path, clock) as platform:
        again = Writer([WRITTEN], stops=stops)
        await platform.start(again, library())
        await again.restore_state(agent.get_state())
        assert again.current_phase is Phase.FIND
        async for _ in again.process_message("", {"decision": "approve"}):
            pass
        assert (await wait_for_end(platform, journey.plan_id)).status == "completed"
        told = [event.type for event in await seen(platform)]
        assert (told.count("phase.checkpoint"), told.count("agent.thinking")) == (1, 4)


async def test_a_thought_is_shown_once_over_repeated_handlings(platform: Platform, clock: VirtualClock) -> None:
    tries: list[str] = []

    class Unlucky(Writer):
        def _take_work(self, phase: Any, work: Any) -> Any:
            tries.append(phase.value)
            if tries.count(phase.value) == 1:
                raise ConnectionError("gone for a moment")
            return super()._take_work(phase, work)

    agent = Unlucky(STRAIGHT)
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await as_time_passes(clock, partial(has_ended, platform, journey.plan_id))
    assert (await wait_for_end(platform, journey.plan_id)).status == "completed"
    assert len(tries) == 6
    assert [event.type for event in await seen(platform)].count("agent.thinking") == 4
    assert len(agent.reasoner.questions) == 4  # type: ignore[union-attr]


async def has_ended(platform: Platform, plan_id: str) -> bool:
    plan = await platform.services.store.plans.plan(plan_id)
    return plan is not None and plan.status.is_final


async def test_a_condition_may_be_a_question_to_the_model(platform: Platform) -> None:
    class Asking(Writer):
        phase_transitions = [
            PhaseTransition(Phase.PLAN, Phase.FIND, "planned", False),
            PhaseTransition(Phase.FIND, Phase.WRITE, "enough", False, question="Is there enough to write?"),
            PhaseTransition(Phase.WRITE, Phase.COMPLETE, "written", False),
        ]

    yes = {"reasoning": "there is", "holds": True, "detail": "write"}
    agent = Asking([PLANNED, FOUND, {"reasoning": "?", "holds": "maybe"}, yes, WRITTEN])
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await journey.plan.result(timeout=5)
    await journey.load()
    assert [(record.decided_by, record.detail) for record in agent.transition_history][1] == ("model", "write")
    details = await platform.plan(journey.plan_id)
    assert "forge/condition" in [entry.prompt_id for entry in details.decisions]
    assert any(step.kind == "moved" and "decided by model" in step.note for step in details.steps)


async def test_a_message_of_another_user_or_of_an_agent_is_not_heard(platform: Platform) -> None:
    agent = Writer(STRAIGHT, stops={Phase.PLAN: QUESTIONS})
    await platform.start(agent, library())
    ada = platform.as_user(tenant_id="acme", user_id="ada")
    journey = await agent.initialize(BRIEF, ada)
    async for _ in agent.process_message():
        pass
    bob = platform.as_user(tenant_id="acme", user_id="bob")
    with pytest.raises(NotFound):
        await bob.publish("notification-events", agent.message_event, {"text": "mine"}, plan_id=journey.plan_id)
    async for _ in agent.process_message("mine"):
        pass
    assert (await journey.load()).phases["messages"] == [{"text": "mine", "told": False}]


async def test_a_message_before_the_begin_of_its_journey_is_not_lost(platform: Platform, clock: VirtualClock) -> None:
    plain = asyncio.Event()

    async def slowly(_: Any) -> Any:
        await plain.wait()
        return PLANNED

    agent = Writer(slowly, stops={Phase.PLAN: QUESTIONS})
    await platform.start(agent, library())
    journey = await agent.initialize(BRIEF)
    await platform.publish("notification-events", agent.message_event, {"text": "early"}, plan_id=journey.plan_id)
    for _ in range(100):  # of seconds
        await clock.advance(1)
        await asyncio.sleep(0)
    assert await platform.dead_letters() == []
    plain.set()

    async def is_kept() -> bool:
        return "agent.message.kept" in [event.type for event in await seen(platform)]

    await as_time_passes(clock, is_kept)
    assert (await journey.load()).phases["messages"] == [{"text": "early", "told": False}]
