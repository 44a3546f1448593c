"""The shown part of an offer: all of it within its room, else the likely choices; within a plan it only grows."""

import json
from typing import Any

import pytest

from soorma_ai.kernel.domain.decisions import OfferRoom, Showing
from soorma_ai.kernel.domain.events import CLIENT
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import compact, identity_of
from soorma_ai.kernel.rules.choices.form import form_of
from soorma_ai.kernel.rules.choices.offer import Delegate, Offer, WaitChoice
from soorma_ai.kernel.rules.choices.ranking import standing_order
from soorma_ai.kernel.rules.choices.showing import (
    LINE_CHARS,
    LINES_FOUND,
    MOST_ASKED,
    RANKED_EACH_TIME,
    SCHEMAS_FOUND,
    SCHEMAS_TO_LINES,
    SHARED_LINES,
    TOKENS_OF_NEAR,
    add_asked,
    add_found,
    add_lines,
    add_near,
    add_schemas,
    lacks_schemas,
    line_of,
    needs_ranking,
    shared_choices,
    show_offer,
    size_of,
)
from soorma_ai.kernel.rules.prompting.fence import fence_lines
from unit.material import obj

SCHEMA = obj({f"field_{n}": {"type": "string", "description": "What it is."} for n in range(5)})
PAID, LATE = (EventDefinition(event_name=name) for name in ("paid", "late"))
WAITS = (WaitChoice(PAID, (CLIENT,)), WaitChoice(LATE, ("bank",)))
BUY = EventDefinition(event_name="buy", payload_schema=SCHEMA)


def event(number: int, **known: Any) -> EventDefinition:
    return EventDefinition(event_name=f"e{number:05}", description="Does it.", payload_schema=SCHEMA, **known)


def offer(count: int) -> Offer:
    return Offer(tuple(event(n) for n in range(count)), (Delegate("buyer", BUY),), WAITS)


def publish_names(*numbers: int) -> list[str]:
    return [f"publish:e{n:05}" for n in numbers]


MANY = offer(2_000)
RANKED = publish_names(*range(1_999, 1_000, -1))
ROOM = OfferRoom()


def first_tier(of: Offer = MANY, room: OfferRoom = ROOM) -> tuple[str, ...]:
    return shared_choices(identity_of(of), room)


def first_showing(*needed: str, room: OfferRoom = ROOM) -> Showing:
    return show_offer(MANY, room, RANKED, needed, None)


def tokens(showing: Showing, of: Offer = MANY) -> tuple[int, int]:
    lines = sum(size_of(name, of.choices[name]).line for name in (*showing.lines, *showing.added))
    return lines, sum(size_of(name, of.choices[name]).schema for name in showing.schemas)


def test_a_small_offer_is_shown_whole_without_a_ranking() -> None:
    few = offer(20)
    assert not needs_ranking(few, ROOM) and needs_ranking(MANY, ROOM)
    showing = show_offer(few, ROOM, [], [], None)
    assert showing.lines == tuple(few.choices) and showing.hidden == 0 and not lacks_schemas(showing)
    assert set(showing.lines) - set(showing.schemas) == {"wait:paid", "wait:late"}


def test_an_offer_with_room_for_all_lines_hides_only_schemas() -> None:
    some = offer(100)
    showing = show_offer(some, ROOM, publish_names(*range(99, 0, -1)), [], None)
    assert showing.hidden == 0 and len(showing.lines) == len(some.choices) and lacks_schemas(showing)
    assert showing.schemas == (*first_tier(some), *publish_names(99, 98, 97)) and len(showing.schemas) == ROOM.schemas


def test_of_very_many_choices_the_best_ranked_stand_behind_the_shared_ones_in_half_of_the_room() -> None:
    showing = first_showing()
    lines, schemas = tokens(showing)
    both = first_tier()
    own = len(showing.schemas) - len(both)
    assert own > 7 and showing.schemas == (*both, *RANKED[:own]) and {*RANKED[:90]} <= {*showing.lines}
    assert 0.9 * ROOM.tokens / 4 < lines <= ROOM.tokens / 4 and schemas <= 1.5 * ROOM.tokens / 2
    assert showing.hidden == len(MANY.choices) - len(showing.lines)
    first, others = showing.lines[: len(both)], showing.lines[len(both) :]
    assert first == tuple(sorted(both)) and others == tuple(sorted(others)) and "wait:paid" in others


@pytest.mark.parametrize(("count", "least"), [(43, 0.7), (200, 0.5), (2_000, 0.25)])
def test_two_plans_of_a_planner_share_the_beginning_of_their_offers(count: int, least: float) -> None:
    wide = obj({f"field_{n}": {"type": "string", "description": "What it is. " * 2} for n in range(10)})
    some = Offer(tuple(EventDefinition(event_name=f"e{n:05}", payload_schema=wide) for n in range(count)))
    orders = (range(count), range(count - 1, 0, -1))
    one, other = (show_offer(some, ROOM, publish_names(*order), [], None) for order in orders)
    both = first_tier(some)
    assert one.schemas[: len(both)] == other.schemas[: len(both)] == both and one.schemas != other.schemas
    assert one.lines[: len(both)] == other.lines[: len(both)] == tuple(sorted(both))
    size = sum(size_of(name, some.choices[name]).schema for name in both)
    assert least < size / (SCHEMAS_TO_LINES * ROOM.tokens) <= 0.75
    forms = [json.dumps(form_of(some, showing, None)) for showing in (one, other)]
    beginning = forms[0].partition(f'"{one.schemas[len(both)]}"')[0]
    assert forms[1].startswith(beginning) and all(f'"{name}"' in beginning for name in both)


def test_goals_then_near_agents_then_others_stand_first_and_each_agent_has_its_share() -> None:
    names = [f"{agent}{n}" for agent in ("a", "b", "m", "z") for n in range(6)]
    agents = {name: f"{name[0]}@shop" if name[0] in "mz" else name[0] for name in names}
    events = tuple(EventDefinition(event_name=name) for name in names)
    of_shop = Offer(events, (Delegate("buyer", BUY),), agents=agents, of_a_tenant=True)
    order = [name.partition(":")[2] for name in standing_order(identity_of(of_shop))]
    assert order[0] == "buyer/buy" and {*order[1:13]} == {name for name in names if name[0] in "mz"}
    assert {name[0] for name in order[1:8]} == {"m", "z"}
    of_all = Offer(events, (), agents=agents)
    assert {name.partition(":")[2][0] for name in standing_order(identity_of(of_all))[:12]} == {"a", "b"}


def test_shared_choices_leave_room_for_a_goal_and_for_its_lines() -> None:
    long = Offer(tuple(EventDefinition(event_name=f"e{n}", description="<" * 240) for n in range(500)))
    lines, _ = tokens(Showing((), first_tier(long)), long)
    assert 0 < lines <= SHARED_LINES * ROOM.tokens
    assert len(first_tier(room=OfferRoom(schemas=10))) == 9


def test_pinned_used_and_awaited_choices_are_shown_at_any_rank() -> None:
    room = OfferRoom(pinned=("e00507", "buy", "nothing"))
    showing = first_showing(*publish_names(503), room=room)
    assert showing.schemas[:2] == ("publish:e00507", "delegate:buyer/buy") == first_tier(room=room)[:2]
    assert showing.schemas[len(first_tier(room=room))] == "publish:e00503"
    assert {"publish:e00503", "publish:e00507", "delegate:buyer/buy", "wait:paid"} <= {*showing.lines}
    assert len(showing.schemas) <= room.schemas


@pytest.mark.parametrize("size", [1, 60])
def test_one_long_schema_or_description_takes_its_own_room_only(size: int) -> None:
    long = EventDefinition(
        event_name="a", description="x" * 9_000, payload_schema=obj({f"p{n}": {"type": "string"} for n in range(size)})
    )
    found = Offer((long, *(event(n) for n in range(2_000))))
    showing = show_offer(found, ROOM, ["publish:a", *RANKED], [], None)
    assert len(line_of(long)) <= LINE_CHARS and {"publish:a", *RANKED[:3]} <= {*showing.schemas}
    assert sum(tokens(showing, found)) <= 2.5 * ROOM.tokens


def test_within_a_plan_the_shown_choices_only_grow() -> None:
    first = first_showing()
    hidden = [name for name in MANY.choices if name not in first.lines]
    second = show_offer(MANY, ROOM, hidden, publish_names(504), first)
    assert second.lines == first.lines and second.schemas == (*first.schemas, *publish_names(504))
    assert (
        second.added
        == (*publish_names(504), *[name for name in hidden if name not in publish_names(504)][:RANKED_EACH_TIME])[:6]
    )
    assert second.hidden == first.hidden - len(second.added)
    assert show_offer(MANY, ROOM, RANKED, [], first) == first


def test_a_choice_outside_the_offer_is_no_longer_shown() -> None:
    before = Showing(("publish:gone", *publish_names(501)), ("publish:gone", *publish_names(501)), ("publish:too",), 1)
    showing = show_offer(MANY, ROOM, [], [], before)
    assert (showing.schemas, showing.lines, showing.added) == (tuple(publish_names(501)), tuple(publish_names(501)), ())


def test_a_showing_too_long_restarts_with_the_choices_the_plan_used() -> None:
    grown = add_schemas(first_showing(), MANY, publish_names(*range(300, 500)))
    showing = show_offer(MANY, ROOM, RANKED, publish_names(3), grown)
    assert showing == first_showing(*publish_names(3)) and showing.added == ()


def test_a_plans_showing_keeps_within_its_room_at_every_decision() -> None:
    hidden = [name for name in MANY.choices if name not in first_showing().lines]
    showing = first_showing()
    for at in range(0, 1_500, 10):
        showing = show_offer(MANY, ROOM, RANKED, publish_names(3), showing, hidden[at : at + 10])
        lines, schemas = tokens(showing)
        assert lines <= ROOM.tokens + 400 and schemas <= 1.5 * ROOM.tokens + 400


def test_schemas_and_lines_are_added_once_and_waits_have_no_schema() -> None:
    first = first_showing()
    more = add_schemas(first, MANY, [*publish_names(501, 501), "wait:late", first.schemas[0]])
    assert more.schemas == (*first.schemas, *publish_names(501)) and {*more.added} <= {*publish_names(501), "wait:late"}
    assert add_schemas(more, MANY, publish_names(501)) == more == add_lines(more, MANY, publish_names(501))


def test_the_best_search_results_are_shown_with_schemas() -> None:
    found = publish_names(*range(500, 600))
    showing = add_found(first_showing(), MANY, found, ROOM)
    assert [name in showing.schemas for name in found[:5]] == [True] * SCHEMAS_FOUND + [False] * (5 - SCHEMAS_FOUND)
    assert {*found[:LINES_FOUND]} <= {*showing.lines, *showing.added}


def test_schemas_asked_for_are_shown_within_the_room() -> None:
    first = first_showing()
    assert add_asked(first, MANY, publish_names(*range(500, 800)), ROOM).schemas == (
        *first.schemas,
        *publish_names(*range(500, 500 + MOST_ASKED)),
    )
    wide = obj({f"p{n}": {"type": "string", "description": "x" * 300} for n in range(40)})
    large = Offer(tuple(EventDefinition(event_name=f"e{n}", payload_schema=wide) for n in range(50)))
    nothing = Showing((), tuple(large.choices))
    few = add_asked(nothing, large, large.choices, ROOM)
    assert 0 < len(few.schemas) < MOST_ASKED and tokens(few, large)[1] <= 1.5 * ROOM.tokens
    assert len(add_asked(nothing, large, large.choices, OfferRoom(10)).schemas) == 1, "one schema is always shown"


@pytest.mark.parametrize("letter", ["x", "‹", "字", "<"])
def test_a_showing_is_measured_in_escaped_text(letter: str) -> None:
    """Fenced text is ASCII: a letter of another script takes six characters."""
    found = Offer(tuple(EventDefinition(event_name=f"e{n}", description=letter * 200) for n in range(500)))
    showing = show_offer(found, ROOM, [], [], None)
    told = fence_lines({name: line_of(found.choices[name]) for name in showing.lines})
    assert len(told) // 4 <= 1.2 * ROOM.tokens


def test_a_description_shown_with_its_schema_counts_with_it() -> None:
    found = Offer(tuple(EventDefinition(event_name=f"e{n}", description="x" * 2_000) for n in range(50)))
    showing = show_offer(found, ROOM, list(found.choices), [], None)
    assert len(compact(form_of(found, showing, None))) // 4 <= 2 * ROOM.tokens


def test_matches_of_the_last_event_are_appended() -> None:
    first = show_offer(MANY, ROOM, RANKED, [], None)
    hidden = [name for name in MANY.choices if name not in first.lines][:30]
    second = show_offer(MANY, ROOM, RANKED, [], first, hidden)
    assert second.schemas == (*first.schemas, *hidden[:3])
    assert (second.lines, second.added) == (first.lines, tuple(hidden[:10]))


def test_the_first_choices_of_agents_in_use_are_added_within_their_room() -> None:
    first = first_showing()
    near = publish_names(*range(100, 900))
    shown = add_near(first, MANY, near)
    schemas, lines = shown.schemas[len(first.schemas) :], shown.added[len(first.added) :]
    assert (*schemas,) == (*near[: len(schemas)],)
    assert (*lines,) == tuple(name for name in near if name not in first.lines)[: len(lines)]
    sizes = [size_of(name, MANY.choices[name]) for name in near]
    assert sum(size.schema for size in sizes[: len(schemas) + 1]) > TOKENS_OF_NEAR
    assert sum(size.schema for size in sizes[: len(schemas)]) <= TOKENS_OF_NEAR
    assert len(schemas) < len(lines)


def test_no_choice_is_added_if_all_of_agents_in_use_are_shown() -> None:
    shown = add_schemas(first_showing(), MANY, publish_names(1, 2))
    assert add_near(shown, MANY, publish_names(1, 2)) == shown
    assert add_near(shown, MANY, []) == shown
