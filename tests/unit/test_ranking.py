"""What a decision is likely to take: by the words of its goal, and shared among the agents behind it."""

from dataclasses import replace

import pytest

from soorma_ai.core.deciding.offer import Delegate, Offer
from soorma_ai.core.deciding.prompt import Occasion
from soorma_ai.core.deciding.ranking import query_about_state, rank_by_occasion, rank_by_words, share, used_in
from soorma_ai.core.plan.triggers import Trigger
from soorma_ai.domain.history import Step, StepKind
from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.values import JsonObject
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
def test_what_the_goal_what_happened_and_the_owner_speak_of_is_likely(
    goal: str, happened: str, instructions: str, first: str
) -> None:
    occasion = Occasion(replace(plan(), goal_data={"wish": goal}), Trigger(happened))
    assert rank_by_occasion(OFFER, occasion, instructions)[0] == first


def test_words_of_every_language_are_found() -> None:
    offer = Offer((*EVENTS, EventDefinition(event_name="a.b", description="Ein Päckchen für Müller wägen.")))
    occasion = Occasion(replace(plan(), goal_data={"wish": "Päckchen"}), Trigger(""))
    assert rank_by_occasion(offer, occasion, "")[0] == "publish:a.b"
    assert rank_by_words(offer, query_about_state({"wish": "Päckchen"}, "")) == ["publish:a.b"]


def test_outside_of_a_plan_its_author_tells_what_is_likely() -> None:
    def about(state: JsonObject) -> list[str]:
        return rank_by_words(OFFER, query_about_state(state, "Songs are all that matters."))

    assert about({"now": "Weigh the parcel."})[0] == "publish:parcel.weigh"
    assert about({"now": "?"})[0] == "delegate:band/song.play"


def test_a_model_finds_by_its_own_words_events_and_goals_alike() -> None:
    assert rank_by_words(OFFER, "play songs") == ["delegate:band/song.play", "publish:song.play"]
    assert rank_by_words(OFFER, "zebra") == []


def test_what_a_plan_has_used_is_known_the_newest_first() -> None:
    def step(kind: StepKind, name: str) -> Step:
        return Step("p-1", 0, kind, NOW, name)

    published, replied = StepKind.PUBLISHED, StepKind.REPLIED
    history = [step(published, "lamp.dim"), step(replied, "parcel.weigh"), step(published, "song.play")]
    assert used_in(history, OFFER) == ["delegate:band/song.play", "publish:song.play", "publish:lamp.dim"]


@pytest.mark.parametrize(
    ("ranked", "shared"),
    [
        ("", ""),
        ("aaaaaaaa", "aaaaaaaa"),
        ("aaaaaaaab", "aaaaba" + "aaa"),
        ("aaaaaaaabbbb", "aaaabbbb" + "aaaa"),
        ("abababab", "abababab"),
        ("aaaaaabc", "aaaabcaa"),
    ],
)
def test_no_agent_has_more_than_half_of_what_is_ranked_while_others_have_anything(ranked: str, shared: str) -> None:
    names = [f"{agent}{n}" for n, agent in enumerate(ranked)]
    found = share(names, lambda name: name[0])
    assert "".join(name[0] for name in found) == shared
    assert sorted(found) == sorted(names)
    for agent in {*ranked}:
        own = [name for name in found if name[0] == agent]
        assert own == [name for name in names if name[0] == agent], "each agent's own keep their order"


def test_sharing_a_long_list_takes_no_longer_than_reading_it() -> None:
    names = [f"a{n}" for n in range(50_000)] + [f"b{n}" for n in range(50_000)]
    found = share(names, lambda name: name[0])
    assert len(found) == 100_000 and {name[0] for name in found[4:8]} == {"b"}
