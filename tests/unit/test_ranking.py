"""Ranking of choices by the words of a goal, with fair shares among agents."""

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.choices.offer import Delegate, Offer
from soorma_ai.kernel.rules.choices.ranking import MOST_OF_AGENT_IN_USE, choices_near, choices_of, rank
from soorma_ai.kernel.rules.decisions.prompt import Occasion, query_about, query_about_state
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.prompting.history import StepLines
from unit.kit import NOW, plan

EVENTS = tuple(
    EventDefinition(event_name=name, description=words)
    for name, words in (
        ("lamp.dim", "Make the light in a hall weaker."),
        ("parcel.weigh", "Weigh a parcel on the scales."),
        ("song.play", "Play a song in the kitchen."),
    )
)
OFFER = Offer(EVENTS, (Delegate("band", EVENTS[2]),))


@pytest.mark.parametrize(
    ("goal", "happened", "instructions", "first"),
    [
        ("weigh this parcel", "", "", "publish:parcel.weigh"),
        ("do it", "The light is too strong.", "", "publish:lamp.dim"),
        ("do it", "", "Songs are all that matters.", "delegate:band/song.play"),
        ("weigh this parcel", "", "Songs are all that matters.", "publish:parcel.weigh"),
    ],
)
def test_goal_then_event_then_instructions_rank_a_choice(
    goal: str, happened: str, instructions: str, first: str
) -> None:
    occasion = Occasion(replace(plan(), goal_data={"wish": goal}), Trigger("It came.", data={"note": happened}))
    assert rank(OFFER, query_about(occasion, instructions))[0] == first


def test_words_of_every_language_match() -> None:
    offer = Offer((*EVENTS, EventDefinition(event_name="a.b", description="Ein Päckchen für Müller wägen.")))
    occasion = Occasion(replace(plan(), goal_data={"wish": "Päckchen"}), Trigger(""))
    assert rank(offer, query_about(occasion, ""))[0] == "publish:a.b"
    assert rank(offer, query_about_state({"wish": "Päckchen"}, "")) == ["publish:a.b"]


def test_a_choice_outside_a_plan_is_ranked_by_its_state_then_by_instructions() -> None:
    def about(state: JsonObject) -> list[str]:
        return rank(OFFER, query_about_state(state, "Songs are all that matters."))

    assert about({"now": "Weigh the parcel."})[0] == "publish:parcel.weigh"
    assert about({"now": "?"})[0] == "delegate:band/song.play"


def test_a_search_by_words_finds_events_and_goals() -> None:
    assert rank(OFFER, "play songs") == ["delegate:band/song.play", "publish:song.play"]
    assert rank(OFFER, "zebra") == []


def test_choices_used_in_a_plan_are_listed_newest_first() -> None:
    def step(kind: StepKind, name: str) -> StepLines:
        return StepLines(Step("p-1", 0, kind, NOW, name))

    published, replied = StepKind.PUBLISHED, StepKind.REPLIED
    history = [step(published, "lamp.dim"), step(replied, "parcel.weigh"), step(published, "song.play")]
    assert choices_of(history, OFFER) == ["delegate:band/song.play", "publish:song.play", "publish:lamp.dim"]


def test_matches_by_meaning_count_beside_matches_by_words() -> None:
    assert rank(OFFER, "play songs", ["lamp.dim"])[0] in ("publish:lamp.dim", "delegate:band/song.play")
    assert rank(OFFER, "zebra", ["lamp.dim"]) == ["publish:lamp.dim"]


def test_an_agent_with_very_many_events_leaves_room_for_others() -> None:
    flood = tuple(
        EventDefinition(event_name=f"parcel.weigh.{n}", description="Weigh a parcel on the scales.") for n in range(900)
    )
    agents = {one.event_name: "flood" for one in flood} | {one.event_name: "house" for one in EVENTS}
    found = rank(Offer((*flood, *EVENTS), agents=agents), "weigh a parcel on the scales")
    assert found.index("publish:parcel.weigh") < 10


def offer_of(counts: dict[str, int]) -> Offer:
    """Return an offer with a number of events for each agent."""
    agents = {f"{agent}.{number:03}": agent for agent, count in counts.items() for number in range(count)}
    return Offer(tuple(EventDefinition(event_name=name) for name in agents), agents=agents)


def test_an_agent_in_use_adds_its_other_choices_best_ranked_first() -> None:
    offer = offer_of({"phone": 4, "bank": 3, "shop": 2})
    ranked = ["publish:shop.000", "publish:phone.002", "publish:bank.001", "publish:phone.000"]
    near = choices_near(ranked, ["publish:phone.000", "publish:bank.000"], offer)
    assert near == [
        "publish:phone.002",
        "publish:bank.001",
        "publish:bank.002",
        "publish:phone.001",
        "publish:phone.003",
    ]
    assert choices_near(ranked, [], offer) == []


@pytest.mark.parametrize(("more", "found"), [(0, MOST_OF_AGENT_IN_USE - 1), (1, 0)])
def test_an_agent_in_use_with_very_many_choices_adds_none(more: int, found: int) -> None:
    offer = offer_of({"gateway": MOST_OF_AGENT_IN_USE + more})
    assert len(choices_near([], ["publish:gateway.000"], offer)) == found
