"""The search index of events: matches by field, and limits on wordy or numerous registrations."""

from collections.abc import Sequence
from typing import Any

import pytest

from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject, Same, identity_of
from soorma_ai.kernel.rules.choices import index as module
from soorma_ai.kernel.rules.choices.index import MOST_NODES, MOST_QUERY_TERMS, EventIndex, Query, impacts_of, index_of
from unit.material import obj

GOAL = "Refund the customer for the broken lamp and tell them by mail."


def event(name: str, description: str = "", **known: Any) -> EventDefinition:
    return EventDefinition(event_name=name, description=description, **known)


SHOP = (
    event("payment.refund", "Pay money back to a customer.", payload_schema=obj({"orderId": {"type": "string"}})),
    event("order.cancel", "Cancel an order that has not been sent.", not_for="Refunds of what was delivered."),
    event("mail.send", "Send a letter to a customer.", synonyms=("notify", "tell them")),
    event("stock.count", "Count what is on the shelves.", when_to_use="Before a reservation, and when goods come in."),
    event("claim.open", "Register a damaged parcel.", payload_schema=obj({"kind": {"enum": ["broken", "wet"]}})),
)


def best(query: Query | str, *more: EventDefinition, most: int = 3) -> list[str]:
    return EventIndex([*SHOP, *more]).rank(query, most)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("refunds", "payment.refund"),
        ("pay the customer", "payment.refund"),
        ("ORDER ID", "payment.refund"),
        ("notify", "mail.send"),
        ("goods are coming in", "stock.count"),
        ("it is broken", "claim.open"),
        ("cancelOrder", "order.cancel"),
    ],
)
def test_an_event_is_found_by_each_of_its_fields(query: str, first: str) -> None:
    assert best(query)[0] == first


@pytest.mark.parametrize("query", ["", "?", "of the", "unheard words", Query(())])
def test_an_event_without_a_common_term_is_not_found(query: Query | str) -> None:
    assert best(query) == []


def test_a_match_in_not_for_lowers_the_rank_of_an_event() -> None:
    plain, other = event("lamp.buy", "Order a lamp."), event("lamp.a", "Order a lamp.", not_for="A lamp as a gift.")
    assert best("order a lamp", plain, other)[:2] == ["lamp.a", "lamp.buy"]
    assert best("order a lamp as gift", plain, other)[:2] == ["lamp.buy", "lamp.a"]
    assert best("gift", plain, other) == []
    impacts = impacts_of(identity_of(other))
    assert impacts["gift"] < 0 < impacts["lamp"]


def test_parts_of_a_query_count_by_weight_and_a_long_part_does_not_drown_a_short_one() -> None:
    both = (("refund", 1.0), ("count shelves", 0.3))
    assert best(Query(both))[:2] == best(Query(both[::-1]))[:2] == ["payment.refund", "stock.count"]
    assert best(Query((("refund", 0.1), ("count shelves", 1.0))))[0] == "stock.count"
    policy = " ".join(f"rule{n}" for n in range(500)) + " cancel count send register letter shelves"
    rules = event("rules", policy)
    assert "payment.refund" in best(Query((("refund", 1.0), (policy, 1.0))), rules, most=2)


def test_ties_are_broken_by_name_and_not_by_order_of_registration() -> None:
    twins = [event(name, "Paint it.") for name in ("c.x", "a.x", "b.x")]
    for order in (twins, twins[::-1]):
        assert EventIndex(order).rank("paint", 2) == ["a.x", "b.x"]


def test_definitions_of_one_name_are_one_event() -> None:
    two = [event("paint.do", "Paint a wall."), event("paint.do", "Paint a door.", topic="business-facts")]
    assert EventIndex([*two, *SHOP]).rank("paint the door", 5) == ["paint.do"]


def test_properties_deep_in_a_schema_and_behind_references_are_found() -> None:
    line = obj({"skuNumber": {"type": "string", "description": "The article."}})
    schema = obj({"lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}}}, **{"$defs": {"Line": line}})
    assert best("sku", event("deep", payload_schema=schema)) == ["deep"]
    assert best("article", event("deep", payload_schema=schema)) == ["deep"]


# Registrations stuffed with words


STUFFED = "refund customer broken lamp mail tell money pay back send letter order cancel "
WORDS = " ".join(f"word{n} refund customer lamp broken mail tell" for n in range(700))


@pytest.mark.parametrize(
    "stuffed",
    [
        event("best.thing", STUFFED * 400),
        event("best.thing", WORDS),
        event("best.thing", GOAL * 50),
        event("best.thing", synonyms=tuple(STUFFED.split() * 50)),
        event("refund." * 500, "Refund. " * 500),
        event("best.thing", payload_schema=obj({f"refund_customer_{n}": {"type": "string"} for n in range(2_000)})),
        event("best.thing", payload_schema=obj({"x": {"enum": [f"{GOAL}{n}" for n in range(500)]}})),
        event("best.thing", STUFFED, when_to_use=STUFFED, synonyms=(STUFFED,)),
    ],
)
def test_the_right_events_stay_in_the_top_ranks_beside_one_stuffed_with_words(stuffed: EventDefinition) -> None:
    found = best(GOAL, stuffed, most=3)
    assert {"payment.refund", "mail.send"} <= {*found}


@pytest.mark.parametrize("number", [100, 1_200])
def test_the_right_events_stay_in_the_top_ranks_beside_an_agent_with_very_many(number: int) -> None:
    flood = [event(f"flood.{n}", GOAL, synonyms=(GOAL,)) for n in range(number)]
    alone, shared = EventIndex([*SHOP, *flood]), EventIndex([*SHOP, *flood], ["shop"] * 5 + ["evil"] * number)
    assert not {"payment.refund", "mail.send"} & {*alone.rank(GOAL, 20)}
    for query in (GOAL, Query(((GOAL, 1.0), ("Refund the customer.", 0.5), ("lamp", 0.5)))):
        assert {"payment.refund", "mail.send"} <= {*shared.rank(query, 20)}
    assert len(shared.rank(GOAL, 50)) == 50, "unused places go to the agent with many events"


def test_agents_within_their_shares_do_not_change_a_ranking() -> None:
    for query in ("customer", GOAL, "count"):
        assert EventIndex(SHOP, [*"abcde"]).rank(query, 4) == EventIndex(SHOP).rank(query, 4)
    with pytest.raises(ValueError, match="shorter"):
        EventIndex(SHOP, ["a"])


def test_a_repeated_word_or_one_of_very_many_has_little_weight() -> None:
    once = impacts_of(identity_of(event("x", "Refund a payment.")))
    often = impacts_of(identity_of(event("x", "Refund. " * 5_000)))
    among_many = impacts_of(identity_of(event("x", WORDS)))
    assert often["refund"] < 1.5 * once["refund"]
    assert among_many["refund"] < once["refund"]
    assert among_many["word7"] < once["refund"] / 5


@pytest.mark.parametrize("nested", [True, False])
def test_only_a_part_of_a_huge_schema_is_indexed(nested: bool) -> None:
    schema: JsonObject = {"type": "string"}
    for number in range(40 if nested else 1):
        width = 30 if nested else 10_000
        schema = obj({f"p{number}_{at}": schema if at == 0 else {} for at in range(width)})
    found = impacts_of(identity_of(event("wide", payload_schema=schema)))
    assert len(found) < 4 * MOST_NODES


def test_a_long_query_is_cut_to_its_rarest_terms() -> None:
    many = [event(f"e{n}", f"common special{n} sort{n % 10}") for n in range(300)]
    query = "common " * 300 + " ".join(f"special{n}" for n in range(MOST_QUERY_TERMS + 50))
    assert len(EventIndex(many).rank(query, 999)) == MOST_QUERY_TERMS
    assert EventIndex(many).rank("common sort7 special7", 3)[0] == "e7"


def test_a_term_shared_by_too_many_events_only_reorders_the_matches_of_rarer_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = [event(f"e{n}", f"common kind{n % 100}", synonyms=("shared",) * (n == 205)) for n in range(300)]
    full = EventIndex(many).rank("common shared kind5", 3)
    monkeypatch.setattr(module, "MOST_LOOKED_AT", 5)
    assert EventIndex(many).rank("common shared kind5", 3) == full == ["e205", "e105", "e5"]
    assert len(EventIndex(many).rank("common", 400)) == 300, "a single term is looked up even if common"


# Reuse of an index


def same(definitions: Sequence[EventDefinition]) -> tuple[Same[EventDefinition], ...]:
    return tuple(map(identity_of, definitions))


def test_equal_registrations_share_an_index_and_a_changed_one_shows_at_once() -> None:
    assert index_of(same(SHOP)) is index_of(same(SHOP))
    changed = SHOP[0].model_copy(update={"description": "Give somebody their cash again."})
    assert index_of(same((changed, *SHOP[1:]))).rank("cash", 1) == ["payment.refund"]
    assert index_of(same(SHOP)).rank("cash", 1) == []
    assert index_of(same(SHOP[1:])).rank("refund customer", 9) == ["mail.send"]


def test_an_unchanged_registration_is_analysed_once() -> None:
    before = impacts_of.cache_info().misses
    index_of(same(SHOP))
    known = impacts_of.cache_info().misses
    index_of(same((event("new"), *SHOP)))
    assert impacts_of.cache_info().misses == known + 1 <= before + len(SHOP) + 1
