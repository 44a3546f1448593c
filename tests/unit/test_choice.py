"""Choice of one event outside of a plan: the offer, the parse of an answer, its checks."""

from typing import Any

import pytest

from soorma_ai.errors import MalformedDecision, NotAllowed, PayloadMismatch, UnknownEvent
from soorma_ai.features.retrieval.choice import NoChoice, judge_choice, offer_on, parse_choice, unseen_choice
from soorma_ai.kernel.domain.decisions import EventDecision, Showing
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.slices import at_once
from soorma_ai.kernel.domain.states import HUMAN_INPUT
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.choices.offer import Offer
from soorma_ai.kernel.rules.schemas.bounded import MAX_CHARS
from soorma_ai.testing.scripted import complete, delegate, publish, publish_all, wait
from unit.material import branching, obj

REQUESTS, FACTS, NOTES = EventTopic.ACTION_REQUESTS, EventTopic.BUSINESS_FACTS, EventTopic.NOTIFICATION_EVENTS
TAKES, GOAL, MAKES, AWAITS = EventRole.TAKES, EventRole.TAKES_AS_GOAL, EventRole.MAKES, EventRole.AWAITS
NUMBER: JsonObject = obj({"n": {"type": "integer"}, "note": {"type": "string"}}, "n")
OFFER = Offer((EventDefinition(event_name="x", payload_schema=NUMBER), EventDefinition(event_name="y")))


def live(agent: str, role: EventRole, name: str, topic: EventTopic = REQUESTS, **known: Any) -> RegisteredEvent:
    return RegisteredEvent(agent, AgentKind.TOOL, role, EventDefinition(event_name=name, topic=topic, **known))


EVERYTHING = (
    live("tools", TAKES, "x", payload_schema=NUMBER),
    live("tools", TAKES, "told", FACTS),
    live("others", TAKES, "x", approval="always"),
    live("minds", GOAL, "goal"),
    live("minds", AWAITS, "awaited", FACTS),
    live("tools", MAKES, "made.by.others", FACTS),
    live("me", TAKES, "own"),
    live("me", TAKES, "own.ear", FACTS),
    live("me", MAKES, "own.fact", FACTS),
    live("me", MAKES, "own.request"),
    live("tools", TAKES, HUMAN_INPUT, NOTES),
)


@pytest.mark.parametrize(
    ("topic", "offered"),
    [(REQUESTS, ["goal", "x"]), (FACTS, ["own.fact", "told"]), (NOTES, []), (EventTopic.PLAN_EVENTS, [])],
)
def test_an_offer_has_requests_others_take_and_facts_taken_or_made(topic: EventTopic, offered: list[str]) -> None:
    offer = offer_on(topic, "me", EVERYTHING)
    assert [event.event_name for event in offer.events] == offered and offer.is_empty is not bool(offered)
    assert not offer.delegates and not offer.waits


def test_an_event_of_several_takers_is_offered_once_with_all_their_conditions() -> None:
    offer = offer_on(REQUESTS, "me", EVERYTHING)
    event = offer.event("x")
    assert event is not None and event.payload_schema == NUMBER and event.approval is not None
    assert offer.agents == {"x": "tools", "goal": "minds"}


def test_the_same_registrations_make_the_same_offer() -> None:
    first = offer_on(REQUESTS, "me", EVERYTHING)
    assert offer_on(REQUESTS, "me", [*EVERYTHING]) is first
    assert offer_on(REQUESTS, "tools", EVERYTHING) is not first


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (publish("x", n=1), EventDecision(event_type="x", data={"n": 1}, reasoning="scripted")),
        (publish("x", n=1, note=None), EventDecision(event_type="x", data={"n": 1}, reasoning="scripted")),
        (publish("nope", n=1), EventDecision(event_type="nope", data={"n": 1}, reasoning="scripted")),
        ({"reasoning": "no", "step": {"action": "none"}}, NoChoice("no")),
        ({"step": {"action": "none"}}, NoChoice("")),
    ],
)
def test_an_answer_is_one_event_or_none(said: Any, meant: Any) -> None:
    assert at_once(parse_choice(said, "", OFFER)) == meant


@pytest.mark.parametrize("said", [complete(), wait("x", "?"), delegate("x", "y"), publish_all(publish("x", n=1))])
def test_a_decision_possible_only_in_a_plan_is_refused(said: Any) -> None:
    with pytest.raises(NotAllowed, match="is not possible here; choose exactly one event of the schema, or 'none'"):
        at_once(parse_choice(said, "", OFFER))


@pytest.mark.parametrize("said", [None, [], {}, {"step": "none"}, {"step": {"action": "publish:x"}}, "none"])
def test_a_malformed_answer_is_refused(said: Any) -> None:
    with pytest.raises(MalformedDecision):
        at_once(parse_choice(said, "", OFFER))


def test_a_choice_is_checked_for_its_schema_shown_its_offer_and_its_payload() -> None:
    right = EventDecision(event_type="x", data={"n": 1})
    assert unseen_choice(right, OFFER, Showing(("publish:y",), ("publish:x", "publish:y"))) == ["publish:x"]
    assert unseen_choice(right, OFFER, Showing(("publish:x",), ("publish:x",))) == []
    judge_choice(right, OFFER)
    with pytest.raises(UnknownEvent, match="'z' is not offered"):
        judge_choice(EventDecision(event_type="z"), OFFER)
    with pytest.raises(PayloadMismatch, match="data for event 'x' does not match its schema"):
        judge_choice(EventDecision(event_type="x"), OFFER)


def test_a_refusal_adds_the_schema_left_out_of_the_outline() -> None:
    offer = Offer((EventDefinition(event_name="y", payload_schema=branching(30)),))
    with pytest.raises(PayloadMismatch, match="the schema of y: ") as refused:
        judge_choice(EventDecision(event_type="y", data={"p0": 1}), offer)
    assert len(str(refused.value)) < MAX_CHARS
