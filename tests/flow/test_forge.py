"""The three agents walk every edge of their graphs, see the reason of each way back, and quote only texts they have
read."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from kit import the_wait, wait_for_end
from phased import seen

from soorma_ai import InvocationContext, LocalProtocolError, Platform, PlatformContext, Tool
from soorma_ai.features.phases.records import JourneyDesignBrief, PhaseTransition
from soorma_ai.forge import BuildAgent, ResearchAgent, UnderstandAgent
from soorma_ai.forge.archive import READ, SEARCH, Entry, Found, Reading, Search, Text
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish, publish_all, wait

TEXTS = {"s1": "Owls eat mice. They hunt at night.", "s2": "Owls nest in hollow trees."}
BRIEF = JourneyDesignBrief(topic="owls")


def archive() -> Tool:
    tool = Tool("archive")

    @tool.on_invoke(SEARCH)
    async def search(request: InvocationContext[Search], context: PlatformContext) -> Found:
        return Found(entries=[Entry(source_id=name, title=f"On {name}") for name in TEXTS])

    @tool.on_invoke(READ)
    async def read(request: InvocationContext[Reading], context: PlatformContext) -> Text:
        name = request.data.source_id
        return Text(source_id=name, title=f"On {name}", text=TEXTS[name])

    return tool


def decomposition(number: int) -> dict[str, Any]:
    category = {"id": f"c{number}", "question": f"Part {number}?"}
    question = {"id": f"q{number}", "category_id": f"c{number}", "text": f"Question {number}?"}
    return complete({"categories": [category], "questions": [question]})


def finding(number: int, source: str = "s1", quote: str = "Owls eat mice.", new_category: str = "") -> dict[str, Any]:
    answer = {"question_id": f"q{number}", "text": "So.", "quotes": [{"source_id": source, "quote": quote}]}
    return complete({"answers": [answer], "new_category": new_category})


def synthesis(*insights: int, answers: str = "", category: str = "") -> dict[str, Any]:
    found = [{"category_id": f"c{number}", "insight": f"Insight {number}."} for number in insights]
    return complete({"insights": found, "missing_answers": answers, "missing_category": category})


FRONTIER = complete({"adjacent_questions": [{"question": "And bats?", "why": "They hunt at night, too."}]})
LOOKED_UP = publish(SEARCH, query="owls")
READ_BOTH = publish_all(publish(READ, source_id="s1"), publish(READ, source_id="s2"))
RESEARCH = [
    *(decomposition(1), LOOKED_UP, READ_BOTH, finding(1, new_category="where they nest")),
    *(decomposition(2), finding(2, "s2", "Owls nest in hollow trees.")),
    *(synthesis(answers="when they hunt"), finding(1, quote="They hunt at night.")),
    *(synthesis(category="how they fly"), decomposition(3), finding(3)),
    *(synthesis(1, 2, 3), FRONTIER),
]


def calibration(*objectives: str) -> dict[str, Any]:
    found = [{"id": one, "text": f"can {one}"} for one in objectives]
    return complete({"knowledge": [{"concept": "birds", "level": "some"}], "objectives": found})


def diagnosis(wrong: str = "") -> dict[str, Any]:
    return complete({"gaps": ["feathers"], "check_question": "What for?", "calibration_was_wrong": wrong})


def lesson(*, failed: str = "", missing: str = "") -> dict[str, Any]:
    said = {"explanation": "Look.", "passed": not failed and not missing, "summary": "You can tell an owl."}
    return complete({**said, "what_failed": failed, "missing_prerequisite": missing})


UNDERSTAND = [
    *(wait("person.replied", "What do you know of birds?"), calibration("tell"), diagnosis("knows no birds")),
    *(calibration("name"), diagnosis(), lesson(failed="takes bats for owls")),
    *(diagnosis(), lesson(missing="what a bird is")),
    *(calibration(), diagnosis(), lesson(), diagnosis(), lesson()),
]


def grounding(*steps: str) -> dict[str, Any]:
    return complete({"concepts": [{"name": "wood", "explanation": "From trees."}], "steps": [*steps]})


def making(gap: str = "") -> dict[str, Any]:
    return complete({"artifacts": [{"name": "box", "content": "|_|"}], "conceptual_gap": gap})


BUILD = [grounding("saw"), making(gap="which wood rots"), grounding("saw", "paint"), making()]

ALL: list[Any] = [(ResearchAgent, RESEARCH), (UnderstandAgent, UNDERSTAND), (BuildAgent, BUILD)]


def scripted_agent(kind: Callable[..., Any], script: list[Any], **options: Any) -> Any:
    return kind(reasoner=ScriptedReasoner(script), **options)


async def walk(platform: Platform, agent: Any, **brief: Any) -> Any:
    """Go through a journey with a yes to every question."""
    await platform.start(agent, archive())
    journey = await agent.initialize(brief or BRIEF)
    stream = agent.process_message()
    while True:
        async for _ in stream:
            pass
        details = await journey.load()
        if details.status.is_final:
            return details
        open_now = [one for one in details.expectations if one.ask and one.status == "open"]
        is_checkpoint = open_now[0].event_type.startswith("phase.checkpoint")
        stream = agent.process_message(*(("", {"decision": "approve"}) if is_checkpoint else ("Sparrows.",)))


def edge(transition: PhaseTransition) -> tuple[Any, ...]:
    ends = (transition.from_phase.value, transition.to_phase.value)
    return (*ends, transition.condition, transition.is_backward)


@pytest.mark.parametrize(("kind", "script"), ALL)
async def test_every_edge_of_the_graph_is_walked(platform: Platform, kind: Any, script: list[Any]) -> None:
    agent = scripted_agent(kind, script)
    details = await walk(platform, agent)
    assert (details.status, details.reason) == ("completed", None)
    names = ("from_phase", "to_phase", "reason", "is_backward")
    walked = {tuple(e.data[name] for name in names) for e in await seen(platform) if e.type == "phase.changed"}
    assert walked == set(map(edge, agent.phase_transitions))


@pytest.mark.parametrize(
    ("kind", "script", "told"),
    [
        (
            ResearchAgent,
            RESEARCH,
            {
                ("new_category_discovered", "DECOMPOSE"): "where they nest",
                ("synthesis_requires_more_answers", "ANSWER"): "when they hunt",
                ("synthesis_reveals_missing_category", "DECOMPOSE"): "how they fly",
            },
        ),
        (
            UnderstandAgent,
            UNDERSTAND,
            {
                ("calibration_was_inaccurate", "CALIBRATE"): "knows no birds",
                ("check_question_failed", "DIAGNOSE"): "takes bats for owls",
                ("fundamental_prerequisite_gap", "CALIBRATE"): "what a bird is",
            },
        ),
        (BuildAgent, BUILD, {("conceptual_gap_discovered", "GROUNDING"): "which wood rots"}),
    ],
)
async def test_the_prompt_after_a_way_back_holds_its_phase_its_reason_and_the_work_done(
    platform: Platform, kind: Any, script: list[Any], told: dict[tuple[str, str], str]
) -> None:
    agent = scripted_agent(kind, script)
    await walk(platform, agent)
    prompts = [question.messages[0].content for question in agent.reasoner.questions]
    assert "You are returning" not in prompts[0]
    for (reason, phase), detail in told.items():
        (prompt, *_) = [one for one in prompts if f"**Why we're back:** {reason}" in one]
        where, _, rest = prompt.partition("**Why we're back:**")
        why, _, done = rest.partition("**Work already completed:**")
        assert f"You are returning to the {phase} phase." in where
        assert detail in why
        assert '"visit 1"' in done
        assert f"Only add/modify what's needed to address: {reason}" in done


async def test_research_ends_with_a_report_of_answers_insights_sources_and_a_frontier(platform: Platform) -> None:
    agent = scripted_agent(ResearchAgent, RESEARCH)
    report = (await walk(platform, agent)).result
    assert report["topic"] == "owls"
    assert [one["question"] for one in report["answers"]] == ["Question 1?", "Question 2?", "Question 3?"]
    assert report["answers"][0]["quotes"] == [{"source_id": "s1", "quote": "They hunt at night."}]
    assert [one["insight"] for one in report["insights"]] == ["Insight 1.", "Insight 2.", "Insight 3."]
    assert report["sources"] == [{"id": "s1", "title": "On s1"}, {"id": "s2", "title": "On s2"}]
    assert report["adjacent_questions"] == [{"question": "And bats?", "why": "They hunt at night, too."}]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (finding(1, quote="Owls eat cheese."), "does not say 'Owls eat cheese.'"),
        (finding(1, quote=" "), "does not say"),
        (finding(1, source="s2", quote="Owls nest in hollow trees."), "'s2' was not read; read were s1"),
        (finding(9), "there is no question 'q9'"),
    ],
)
async def test_a_quote_of_an_unread_text_is_refused(platform: Platform, bad: Any, told: str) -> None:
    rest = [finding(1), synthesis(1), FRONTIER]
    agent = scripted_agent(ResearchAgent, [decomposition(1), publish(READ, source_id="s1"), bad, *rest])
    details = await walk(platform, agent)
    assert details.status == "completed"
    (refused,) = [one.refusal for one in details.decisions if one.is_refused]
    assert told in refused


async def test_an_answer_about_the_coverage_counts_in_its_time_and_is_late_afterwards(
    platform: Platform, clock: VirtualClock
) -> None:
    looked_up = [LOOKED_UP, publish(READ, source_id="s1"), finding(1)]
    agent = scripted_agent(ResearchAgent, [decomposition(1), *looked_up, synthesis(1), FRONTIER])
    await platform.start(agent, archive())
    journey = await agent.initialize(BRIEF)
    tree = await the_wait(platform)
    await platform.answer(tree.wait_id, {"approved": True})
    async for _ in agent.process_message():
        pass
    coverage = await the_wait(platform)
    assert coverage.wait_id != tree.wait_id
    await clock.advance(timedelta(hours=1).total_seconds())
    assert (await wait_for_end(platform, journey.plan_id)).status == "completed"
    assert await platform.answer(coverage.wait_id, {"approved": False}) == "late"


async def test_a_person_changes_the_questions_and_they_are_asked_again(platform: Platform) -> None:
    again = complete({"categories": [], "questions": []})
    rest = [publish(READ, source_id="s1"), finding(8), synthesis(1), FRONTIER]
    agent = scripted_agent(ResearchAgent, [decomposition(1), again, *rest])
    await platform.start(agent, archive())
    await agent.initialize(BRIEF)
    async for _ in agent.process_message():
        pass
    added = {"id": "q8", "category_id": "c1", "text": "What do owls drink?"}
    changed = {"remove": ["q1"], "add": [added]}
    async for _ in agent.process_message("", {"decision": "modify", "modifications": changed}):
        pass
    (asked,) = await platform.waits()
    assert (await platform.plan(str(asked.plan_id))).phases["standing"]["visits"] == {"DECOMPOSE": 1}  # type: ignore[index,call-overload]
    assert [one.text for one in agent.phase_context.questions] == ["What do owls drink?"]
    assert "What do owls drink?" in agent.reasoner.questions[1].messages[1].content


@pytest.mark.parametrize("changes", [{"add": [7]}, {"add": [{"id": "q9"}]}, {"remove": "q1"}, {"colour": "red"}])
async def test_invalid_changes_are_no_answer_and_the_checkpoint_stays(
    platform: Platform, changes: dict[str, Any]
) -> None:
    agent = scripted_agent(ResearchAgent, [decomposition(1)])
    await platform.start(agent, archive())
    await agent.initialize(BRIEF)
    async for _ in agent.process_message():
        pass
    with pytest.raises(LocalProtocolError, match="the answer does not count"):
        async for _ in agent.process_message("", {"decision": "modify", "modifications": changes}):
            pass
    assert len(await platform.waits()) == 1


async def test_a_learner_is_asked_in_the_phases_and_sees_a_summary_after_each_objective(platform: Platform) -> None:
    agent = scripted_agent(UnderstandAgent, UNDERSTAND)
    details = await walk(platform, agent)
    told = await seen(platform)
    spoken = [event.data["message"] for event in told if event.type == "agent.speaking"]
    assert spoken == ["What do you know of birds?"]
    shown = [event.data for event in told if event.type == "phase.checkpoint"]
    assert [one["checkpoint_id"] for one in shown] == [*["knowledge_state"] * 3, *["objective_summary"] * 2]
    assert [one["requires_approval"] for one in shown] == [*[True] * 3, *[False] * 2]
    assert [one["objective"] for one in details.result["reached"]] == ["can tell", "can name"]


async def test_an_artifact_is_made_after_a_person_approves_the_ground(platform: Platform) -> None:
    agent = scripted_agent(BuildAgent, BUILD)
    details = await walk(platform, agent)
    assert details.result == {"topic": "owls", "steps": ["saw", "paint"], "artifacts": {"box": "|_|"}}
    checkpoints = [event.data["checkpoint_id"] for event in await seen(platform) if event.type == "phase.checkpoint"]
    assert checkpoints == ["ready_to_make"] * 2
