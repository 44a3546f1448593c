"""Plans as A2A tasks: the state of a task, agent cards, and results of remote tasks."""

from typing import Any

import pytest
from a2a.types import AgentCard, AgentInterface, AgentSkill, Artifact, Message, Part, Task, TaskState, TaskStatus

from soorma_ai import ConfigError
from soorma_ai.gateways.a2a.cards import Front, card_of, early_card_of, goals_of
from soorma_ai.gateways.a2a.parts import MOST_AS_DATA, part_of, small_part_of
from soorma_ai.gateways.a2a.skills import LONGEST_DESCRIPTION, content_of, definitions_of, must_be_its_own, result_of
from soorma_ai.gateways.a2a.tasks import FINAL, state_of
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.identity import TokenSources
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent

SCHEMA = {"type": "object", "properties": {"count": {"type": "integer", "maximum": 2**60}}}
FRONT = Front(
    "shop", "Sells.", "1", "https://shop.example/a2a", "https://shop.example/a2a/v1", TokenSources(), has_push=False
)


@pytest.mark.parametrize(
    ("status", "silent", "asking"),
    [
        (PlanStatus.PENDING, "SUBMITTED", "INPUT_REQUIRED"),
        (PlanStatus.RUNNING, "WORKING", "INPUT_REQUIRED"),
        (PlanStatus.PAUSED, "WORKING", "INPUT_REQUIRED"),
        (PlanStatus.COMPLETED, "COMPLETED", "COMPLETED"),
        (PlanStatus.FAILED, "FAILED", "FAILED"),
        (PlanStatus.CANCELLED, "CANCELED", "CANCELED"),
    ],
)
def test_a_tasks_state_follows_its_plans_status_and_its_open_questions(
    status: PlanStatus, silent: str, asking: str
) -> None:
    found = [state_of(status, is_asking=one) for one in (False, True)]
    assert [TaskState.Name(one) for one in found] == [f"TASK_STATE_{silent}", f"TASK_STATE_{asking}"]
    assert (found[0] in FINAL) is status.is_final


def goal_of_registry(name: str, role: EventRole = EventRole.TAKES_AS_GOAL, agent: str = "orders") -> RegisteredEvent:
    definition = EventDefinition(event_name=name, description=f"Does {name}.", payload_schema=SCHEMA)
    return RegisteredEvent(agent, AgentKind.PLANNER, role, definition)


def test_a_card_lists_goals_as_skills_and_nothing_else() -> None:
    goals = goals_of(
        [
            goal_of_registry("b"),
            goal_of_registry("a"),
            goal_of_registry("a", agent="others"),
            goal_of_registry("c", EventRole.TAKES),
        ],
        None,
    )
    card = card_of(FRONT, goals)
    assert [(skill.id, list(skill.tags)) for skill in card.skills] == [("a", ["orders", "others"]), ("b", ["orders"])]
    assert [one.id for one in early_card_of(FRONT, goals).skills] == ["a", "b"]
    assert [one.definition.event_name for one in goals_of(goals, ("b",))] == ["b"]


def test_with_requests_adds_requests_of_tools_as_skills_and_goals_take_precedence() -> None:
    fact = EventDefinition(event_name="d", topic=EventTopic.BUSINESS_FACTS)
    known_ones = [
        goal_of_registry("b", EventRole.TAKES, "tool"),
        goal_of_registry("a"),
        goal_of_registry("a", EventRole.TAKES, "tool"),
        goal_of_registry("c", EventRole.MAKES),
        RegisteredEvent("agent", AgentKind.AGENT, EventRole.TAKES, fact),
    ]
    found = goals_of(known_ones, None, with_requests=True)
    assert [(one.id, list(one.tags)) for one in card_of(FRONT, found).skills] == [("a", ["orders"]), ("b", ["tool"])]
    assert [one.id for one in early_card_of(FRONT, found).skills] == ["a", "b"]
    assert goals_of(known_ones, ("c",), with_requests=True) == []


def test_a_card_of_this_gateway_is_read_back_unchanged() -> None:
    (made,) = definitions_of("shop", card_of(FRONT, [goal_of_registry("order.place")]))
    assert (made.event_name, made.description) == ("shop.order.place", "Does order.place.")
    assert made.payload_schema == SCHEMA


def test_a_foreign_cards_skills_are_bounded_in_name_length_and_number() -> None:
    skills = [
        AgentSkill(id=one, name="x", description="a\n\nb " * 1_000) for one in ("ok", "no no", "", "../x", "a" * 101)
    ]
    (made,) = definitions_of("shop", AgentCard(skills=skills))
    assert made.event_name == "shop.ok"
    assert (len(made.description) <= LONGEST_DESCRIPTION, "\n" in made.description) == (True, False)
    with pytest.raises(ConfigError, match="no skill"):
        definitions_of("shop", AgentCard(name="x"))
    many = [AgentSkill(id=f"s{number}", name="x", description="x") for number in range(1_000)]
    assert len(definitions_of("shop", AgentCard(skills=many))) == 100


@pytest.mark.parametrize(
    ("url", "is_its_own"),
    [
        ("https://shop.example/a2a", True),
        ("https://shop.example:443/x", True),
        ("http://shop.example/a2a", False),
        ("https://shop.example:8443/a2a", False),
        ("https://shop.example@evil.example/a2a", False),
        ("https://evil.example/a2a", False),
    ],
)
def test_a_card_with_an_interface_on_another_origin_is_refused(url: str, is_its_own: bool) -> None:
    card = AgentCard(supported_interfaces=[AgentInterface(url=url)])
    if is_its_own:
        must_be_its_own(card, "https://shop.example")
        return
    with pytest.raises(ConfigError, match=r"only https://shop\.example:443 is asked"):
        must_be_its_own(card, "https://shop.example")


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        ([], {}),
        ([part_of({"a": 1}), part_of("words")], {"a": 1, "text": "words"}),
        ([part_of({"a": 1}), part_of({"b": 2**60})], {"a": 1, "b": 2**60}),
        ([part_of([1, 2])], {"data": [1, 2]}),
        ([part_of([2**60])], {"data": [2**60]}),
        ([small_part_of([1] * MOST_AS_DATA)], {"data": [1] * MOST_AS_DATA}),
        ([Part(text="no json", media_type="application/json")], {"text": "no json"}),
        ([Part(raw=b"abc", filename="x")], {"files": [{"name": "x", "media_type": "", "bytes": 3}]}),
        ([Part(url="http://x", filename="x")], {"files": [{"name": "x", "media_type": "", "url": "http://x"}]}),
        ([Part()], {}),
    ],
)
def test_parts_of_a_remote_answer_become_one_object(parts: list[Part], content: Any) -> None:
    assert content_of(parts) == content
    assert result_of(Task(artifacts=[Artifact(parts=parts)])) == content


def test_a_task_without_artifacts_results_in_its_final_message() -> None:
    assert result_of(Task(status=TaskStatus(message=Message(parts=[part_of("done")])))) == {"text": "done"}
