"""The shown part of an offer: all of it within its room, else the likely choices; within a plan it only grows."""

from typing import Any

import pytest

from soorma_ai.kernel.domain.decisions import OfferRoom, Showing
from soorma_ai.kernel.domain.events import CLIENT
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.rules.choices.form import form_of
from soorma_ai.kernel.rules.choices.offer import Delegate, Offer, WaitChoice
from soorma_ai.kernel.rules.choices.showing import (
    LINE_CHARS,
    LINES_FOUND,
    MOST_ASKED,
    RANKED_EACH_TIME,
    SCHEMAS_FOUND,
    TOKENS_OF_NEAR,
    add_asked,
    add_found,
    add_lines,
    add_near,
    add_schemas,
    lacks_schemas,
    line_of,
    needs_ranking,
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
    showing = show_offer(some, ROOM, publish_names(*range(100)), [], None)
    assert showing.hidden == 0 and len(showing.lines) == len(some.choices) and lacks_schemas(showing)
    assert showing.schemas == tuple(publish_names(*range(20)))


def test_of_very_many_choices_the_best_ranked_fill_half_of_the_room() -> None:
    showing = first_showing()
    lines, schemas = tokens(showing)
    assert showing.schemas == tuple(RANKED[:20]) and {*RANKED[:100]} <= {*showing.lines}
    assert 0.9 * ROOM.tokens / 2 < lines <= ROOM.tokens / 2 and schemas <= 1.5 * ROOM.tokens / 2
    assert showing.hidden == len(MANY.choices) - len(showing.lines)
    assert showing.lines == tuple(sorted(showing.lines)) and "wait:paid" in showing.lines


def test_pinned_used_and_awaited_choices_are_shown_at_any_rank() -> None:
    showing = first_showing(*publish_names(3), room=OfferRoom(pinned=("e00007", "buy", "nothing")))
    assert showing.schemas[:3] == ("publish:e00007", "delegate:buyer/buy", "publish:e00003")
    assert {"publish:e00003", "publish:e00007", "delegate:buyer/buy", "wait:paid"} <= {*showing.lines}
    assert len(showing.schemas) == 20


@pytest.mark.parametrize("size", [1, 60])
def test_one_long_schema_or_description_takes_its_own_room_only(size: int) -> None:
    long = EventDefinition(
        event_name="a", description="x" * 9_000, payload_schema=obj({f"p{n}": {"type": "string"} for n in range(size)})
    )
    found = Offer((long, *(event(n) for n in range(2_000))))
    showing = show_offer(found, ROOM, ["publish:a", *RANKED], [], None)
    assert len(line_of(long)) <= LINE_CHARS and {"publish:a", *RANKED[:10]} <= {*showing.schemas}
    assert sum(tokens(showing, found)) <= 2.5 * ROOM.tokens


def test_within_a_plan_the_shown_choices_only_grow() -> None:
    first = first_showing()
    hidden = [name for name in MANY.choices if name not in first.lines]
    second = show_offer(MANY, ROOM, hidden, publish_names(4), first)
    assert second.lines == first.lines and second.schemas == (*first.schemas, *publish_names(4))
    assert (
        second.added
        == (*publish_names(4), *[name for name in hidden if name not in publish_names(4)][:RANKED_EACH_TIME])[:6]
    )
    assert second.hidden == first.hidden - len(second.added)
    assert show_offer(MANY, ROOM, RANKED, [], first) == first


def test_a_choice_outside_the_offer_is_no_longer_shown() -> None:
    before = Showing(("publish:gone", *publish_names(1)), ("publish:gone", *publish_names(1)), ("publish:too",), 1)
    showing = show_offer(MANY, ROOM, [], [], before)
    assert (showing.schemas, showing.lines, showing.added) == (tuple(publish_names(1)), tuple(publish_names(1)), ())


def test_a_showing_too_long_restarts_with_the_choices_the_plan_used() -> None:
    grown = add_schemas(first_showing(), MANY, publish_names(*range(200)))
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
    more = add_schemas(first, MANY, [*publish_names(1, 1), "wait:late", first.schemas[0]])
    assert more.schemas == (*first.schemas, *publish_names(1)) and {*more.added} <= {*publish_names(1), "wait:late"}
    assert add_schemas(more, MANY, publish_names(1)) == more == add_lines(more, MANY, publish_names(1))


def test_the_best_search_results_are_shown_with_schemas() -> None:
    found = publish_names(*range(100))
    showing = add_found(first_showing(), MANY, found, ROOM)
    assert [name in showing.schemas for name in found[:5]] == [True] * SCHEMAS_FOUND + [False] * (5 - SCHEMAS_FOUND)
    assert {*found[:LINES_FOUND]} <= {*showing.lines, *showing.added}


def test_schemas_asked_for_are_shown_within_the_room() -> None:
    first = first_showing()
    assert add_asked(first, MANY, publish_names(*range(300)), ROOM).schemas == (
        *first.schemas,
        *publish_names(*range(MOST_ASKED)),
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
    near = publish_names(*range(900))
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
