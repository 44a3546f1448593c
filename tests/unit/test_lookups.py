"""Lookups of a model before a decision, and the refusal of choices with an unseen schema."""

from typing import Any

import pytest

from soorma_ai.errors import MalformedDecision, NotAllowed, PayloadMismatch
from soorma_ai.kernel.domain.decisions import OfferRoom, Showing
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.rules.choices.lookups import (
    MOST_LOOKUPS,
    WHOLE_CHARS,
    WORDS_CHARS,
    Lookup,
    choices_named,
    look_up,
    must_be_possible,
    must_not_look_again,
    parse_lookup,
    refuse_unseen,
    unseen_in,
    with_whole_schemas,
)
from soorma_ai.kernel.rules.choices.offer import Delegate, Offer, WaitChoice
from soorma_ai.kernel.rules.decisions.wire_form import parse_decision
from soorma_ai.kernel.rules.schemas.bounded import MAX_CHARS
from soorma_ai.testing.scripted import complete, delegate, publish, publish_all, wait
from unit.material import branching, obj

BUY = Delegate("buyer", EventDefinition(event_name="buy"))
OFFER = Offer(
    tuple(EventDefinition(event_name=name, payload_schema=obj({name: {}})) for name in ("buy", "x", "y")),
    (BUY,),
    (WaitChoice(EventDefinition(event_name="paid"), ()),),
)
SHOWING = Showing(("publish:x",), tuple(OFFER.choices))


def step(action: str, **fields: Any) -> dict[str, Any]:
    return {"reasoning": "", "step": {"action": action, **fields}}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (step("need_schema", events=["x", "publish:y"]), Lookup(choices=("x", "publish:y"))),
        (step("find_events", words=" send mail "), Lookup(words=" send mail ")),
        (step("find_events", words="w" * 9_999), Lookup(words="w" * WORDS_CHARS)),
        (step("see_result", path="step3.result"), Lookup(path="step3.result")),
        (publish("x"), None),
        (complete(), None),
        ({"step": "need_schema"}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_a_lookup_is_parsed_and_a_decision_is_none(said: Any, meant: Lookup | None) -> None:
    assert parse_lookup(said) == meant


@pytest.mark.parametrize(
    "said",
    [
        step("need_schema"),
        step("need_schema", events=[]),
        step("need_schema", events="x"),
        step("need_schema", events=["x"] * 9),
        step("find_events"),
        step("find_events", words="  "),
        step("find_events", words=["x"]),
        step("see_result", path=3),
    ],
)
def test_a_malformed_lookup_is_refused_with_the_needed_fields(said: Any) -> None:
    with pytest.raises(MalformedDecision, match=f"{said['step']['action']}' needs .*, found"):
        parse_lookup(said)


def test_a_lookup_with_other_fields_is_refused() -> None:
    with pytest.raises(MalformedDecision, match="'step' holds 'confidence'; 'find_events' takes no such fields"):
        parse_lookup(step("find_events", words="x", confidence=1))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("x", ["publish:x"]),
        ("publish:x", ["publish:x"]),
        ("buy", ["delegate:buyer/buy", "publish:buy"]),
        ("delegate:buyer/buy", ["delegate:buyer/buy"]),
        ("paid", ["wait:paid"]),
        ("nothing", []),
    ],
)
def test_a_lookup_may_name_an_event_without_its_action(name: str, meant: list[str]) -> None:
    assert choices_named(Lookup(choices=(name,)), OFFER) == meant


def test_schemas_looked_up_are_shown_beside_the_earlier_ones() -> None:
    asked, note = look_up(Lookup(choices=("buy",)), OFFER, SHOWING, (), OfferRoom())
    assert asked.schemas == (*SHOWING.schemas, "delegate:buyer/buy", "publish:buy") and not note
    found, note = look_up(Lookup(words="y"), OFFER, SHOWING, ["publish:y"], OfferRoom())
    assert found.schemas == (*SHOWING.schemas, "publish:y") and not note


@pytest.mark.parametrize(
    ("lookup", "found", "told"),
    [
        (Lookup(choices=("nothing",)), (), "None of what you named is offered"),
        (Lookup(choices=("x",)), (), "The schemas that you asked for are shown already."),
        (Lookup(words="zebra"), (), "Nothing more was found by these words."),
        (Lookup(words="x"), ("publish:x",), "Nothing more was found by these words."),
    ],
)
def test_a_lookup_without_result_gets_a_note_and_no_refusal(lookup: Lookup, found: tuple[str, ...], told: str) -> None:
    showing, note = look_up(lookup, OFFER, SHOWING, found, OfferRoom())
    assert showing == SHOWING and note.startswith(told)


def test_lookups_are_limited_and_then_a_decision_is_due() -> None:
    must_not_look_again(MOST_LOOKUPS - 1)
    with pytest.raises(NotAllowed, match="3 times you have asked to see more; decide now"):
        must_not_look_again(MOST_LOOKUPS)


@pytest.mark.parametrize(
    ("lookup", "words"),
    [
        (Lookup(choices=("publish:x",)), "every action is shown with its schema"),
        (Lookup(words="pay"), "all that there is stands in the list"),
        (Lookup(path="step1.result"), "all results are shown whole"),
    ],
)
def test_a_lookup_outside_the_offer_is_refused_with_a_reason_that_ends_it(lookup: Lookup, words: str) -> None:
    whole, part = Showing(("publish:x",), ("publish:x",)), Showing((), ("publish:x",), hidden=3)
    with pytest.raises(NotAllowed, match=f"{words}.*decide now"):
        must_be_possible(lookup, whole, refers=False)
    must_be_possible(lookup, part, refers=True)


@pytest.mark.parametrize(
    ("decision", "unseen"),
    [
        (publish("x"), []),
        (publish("y"), ["publish:y"]),
        (publish("nothing"), []),
        (publish_all(publish("y"), publish("x"), publish("y"), publish("buy")), ["publish:y", "publish:buy"]),
        (delegate("buyer", "buy", {}), ["delegate:buyer/buy"]),
        (wait("paid", "?"), []),
        (complete(), []),
    ],
)
def test_a_choice_with_an_unseen_schema_is_refused_with_that_schema(decision: Any, unseen: list[str]) -> None:
    assert unseen_in(parse_decision(decision, ""), OFFER, SHOWING) == unseen
    if unseen:
        said = str(refuse_unseen(unseen, OFFER))
        assert said.startswith(f"{', '.join(unseen)}: the schema of its data had not been shown to you")
        assert all(f"the schema of {name}: {{" in said for name in unseen)


def test_a_refusal_adds_the_schema_left_out_of_the_outline() -> None:
    found = Offer((EventDefinition(event_name="y", payload_schema=branching(30)),), (BUY,))
    refused = PayloadMismatch("$.p0 is no object")
    for item in (publish("y", p0=1), publish_all(publish("y", p0=1), publish("y"))):
        told = str(with_whole_schemas(refused, parse_decision(item, ""), found))
        assert told.startswith("$.p0 is no object; the schema of y: {") and '"$ref":"#/$defs/L30"' in told
    for item in (publish("x"), delegate("buyer", "buy", {}), wait("paid", "?"), complete()):
        assert with_whole_schemas(refused, parse_decision(item, ""), found) is refused
    long = obj({f"p{n}": {"type": "string", "description": "x" * 200} for n in range(5_000)}, "p1")
    wide = Offer((EventDefinition(event_name="y", payload_schema=long),))
    assert len(str(with_whole_schemas(refused, parse_decision(publish("y"), ""), wide))) < MAX_CHARS
    assert len(str(refuse_unseen(["publish:y"], wide))) < WHOLE_CHARS + 500
    promised = Offer(result_schema=branching(30))
    assert "the schema of the result" in str(with_whole_schemas(refused, parse_decision(complete(), ""), promised))
