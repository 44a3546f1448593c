"""What may be decided now: what live agents take and make, and what people may tell."""

from typing import Any

import pytest

from soorma_ai.core.deciding.judge import parse_decision
from soorma_ai.core.deciding.offer import (
    LARGE_EVENTS,
    Offer,
    make_offer,
    merge_definitions,
    must_be_possible_at_once,
    part_of,
    with_whole_schemas,
)
from soorma_ai.core.schema.bounded import MAX_CHARS
from soorma_ai.domain.events import CLIENT, EventTopic
from soorma_ai.domain.registry import AgentKind, Approval, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.domain.schemas import ANY_OBJECT, violations
from soorma_ai.domain.values import JsonObject, compact
from soorma_ai.errors import NotAllowed, PayloadMismatch
from soorma_ai.testing.scripted import complete, delegate, publish, publish_all, wait
from unit.material import branching, obj

PAID = EventDefinition(event_name="paid", topic=EventTopic.BUSINESS_FACTS)
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def registered(agent: str, role: EventRole, name: str, **known: Any) -> RegisteredEvent:
    return RegisteredEvent(agent, AgentKind.TOOL, role, EventDefinition(event_name=name, **known))


TAKES, GOAL, MAKES = EventRole.TAKES, EventRole.TAKES_AS_GOAL, EventRole.MAKES


def offer(*live: RegisteredEvent) -> Offer:
    return make_offer("orders", live, [PAID], None)


@pytest.mark.parametrize(
    ("role", "agent", "topic", "events", "goals", "waits"),
    [
        (TAKES, "stock", EventTopic.ACTION_REQUESTS, ["x"], [], ["paid"]),
        (TAKES, "orders", EventTopic.ACTION_REQUESTS, [], [], ["paid"]),
        (TAKES, "stock", EventTopic.BUSINESS_FACTS, [], [], ["paid"]),
        (GOAL, "buyer", EventTopic.ACTION_REQUESTS, [], ["buyer/x"], ["paid"]),
        (GOAL, "orders", EventTopic.ACTION_REQUESTS, [], [], ["paid"]),
        (MAKES, "stock", EventTopic.BUSINESS_FACTS, [], [], ["paid", "x"]),
        (MAKES, "stock", EventTopic.ACTION_RESULTS, [], [], ["paid"]),
        (EventRole.AWAITS, "stock", EventTopic.BUSINESS_FACTS, [], [], ["paid"]),
    ],
)
def test_what_is_offered_is_what_others_take_and_make(
    role: EventRole, agent: str, topic: EventTopic, events: list[str], goals: list[str], waits: list[str]
) -> None:
    found = offer(registered(agent, role, "x", topic=topic))
    assert [event.event_name for event in found.events] == events
    assert [f"{one.planner}/{one.goal.event_name}" for one in found.delegates] == goals
    assert [one.definition.event_name for one in found.waits] == waits


def test_a_fact_that_agents_make_and_a_client_may_tell_has_all_of_them_as_producers() -> None:
    fact = EventTopic.BUSINESS_FACTS
    found = offer(registered("bank", MAKES, "paid", topic=fact), registered("till", MAKES, "paid", topic=fact))
    awaited = found.awaited("paid")
    assert awaited is not None and awaited.producers == (CLIENT, "bank", "till")


def test_an_event_that_several_take_fits_each_of_them_and_needs_a_person_where_one_wants_one() -> None:
    plain = EventDefinition(event_name="x", description="Does it.")
    strict = EventDefinition(event_name="x", payload_schema=NUMBER, approval=Approval("payload.n > 5"))
    short = EventDefinition(
        event_name="x", payload_schema={"properties": {"n": {"maximum": 9}}}, approval=Approval(approvers=("boss",))
    )
    assert merge_definitions([plain]) is plain
    assert merge_definitions([plain, plain]).payload_schema == ANY_OBJECT
    one = merge_definitions([plain, strict])
    assert (one.description, one.payload_schema, one.approval) == ("Does it.", NUMBER, strict.approval)
    both = merge_definitions([strict, short, plain])
    assert [bool(violations(both.payload_schema, {"n": n})) for n in (3, 10, "x")] == [False, True, True]
    assert both.approval is not None and both.approval.approvers == ("boss",)


def test_an_empty_offer_parks_its_plan_and_can_only_be_completed() -> None:
    empty = Offer()
    assert empty.is_empty and not offer().is_empty
    assert not violations(empty.schema, complete()) and violations(empty.schema, publish("x"))
    assert (empty.takes(""), offer().takes("")) == (False, True)
    assert [offer(registered("stock", TAKES, "x")).takes(name) for name in ("x", "y")] == [True, False]
    assert offer(registered("buyer", GOAL, "buy")).takes("buy")


def test_the_schema_of_a_decision_has_a_branch_for_each_thing_that_can_be_done() -> None:
    live = registered("stock", TAKES, "x", payload_schema=NUMBER), registered("buyer", GOAL, "buy")
    found = offer(*live)
    for item in (publish("x", n=1), delegate("buyer", "buy", {}), wait("paid", "?"), wait("paid", "?", 5), complete()):
        assert violations(found.schema, item) == []
    for item in (publish("x"), publish("y"), delegate("x", "buy", {}), wait("x", "?"), wait("paid", "?", 0)):
        assert violations(found.schema, item) != []
    assert found.digest == offer(*reversed(live)).digest != offer().digest


WIDE = obj({f"p{n}": {"type": "string", "description": "x" * 200} for n in range(5_000)}, "p1")


@pytest.mark.parametrize("schema", [branching(30), WIDE, {**WIDE, "required": [f"p{n}" for n in range(5_000)]}])
def test_a_schema_too_large_to_be_shown_is_an_outline_and_takes_nothing_from_the_others(schema: JsonObject) -> None:
    small = registered("stock", TAKES, "x", payload_schema=NUMBER)
    large = registered("odd", TAKES, "y", description="Does it.", payload_schema={**schema, "description": "Much."})
    found = offer(small, large)
    told = part_of(large.definition, "publish:y")
    assert '"Does it."' in told.named and '"Much. Its schema is too large to be shown' in told.told
    assert len(told.told) < MAX_CHARS and len(compact(found.schema)) < 3 * MAX_CHARS
    assert violations(found.schema, publish("x", n=1)) == [] != violations(found.schema, publish("x"))
    some: Any = dict.fromkeys(schema.get("required", []), "a")
    assert violations(found.schema, publish("y", **some, more=1)) == []


def test_what_an_outline_left_out_is_told_with_the_refusal() -> None:
    found = offer(registered("odd", TAKES, "y", payload_schema=branching(30)), registered("buyer", GOAL, "buy"))
    refused = PayloadMismatch("$.p0 is no object")
    for item in (publish("y", p0=1), publish_all(publish("y", p0=1), publish("y"))):
        told = str(with_whole_schemas(refused, parse_decision(item, ""), found))
        assert told.startswith("$.p0 is no object; the schema of y: {") and '"$ref":"#/$defs/L30"' in told
    for item in (publish("x"), delegate("buyer", "buy", {}), wait("paid", "?"), complete()):
        assert with_whole_schemas(refused, parse_decision(item, ""), found) is refused
    wide = offer(registered("odd", TAKES, "y", payload_schema=WIDE))
    assert len(str(with_whole_schemas(refused, parse_decision(publish("y"), ""), wide))) < MAX_CHARS
    promised = make_offer("orders", [], [], branching(30))
    assert "the schema of the result" in str(with_whole_schemas(refused, parse_decision(complete(), ""), promised))


def test_an_offer_is_put_together_once_for_the_same_registrations_and_a_part_for_its_own() -> None:
    one, other, taken = registered("stock", TAKES, "x"), registered("shop", TAKES, "x"), registered("bank", TAKES, "y")
    found = offer(one, other, taken)
    assert offer(one, other, taken) is found
    more = offer(one, other, taken, registered("bank", TAKES, "z"))
    assert [more.event(name) is found.event(name) for name in ("x", "y")] == [True, True]
    assert part_of(taken.definition, "publish:y") is part_of(taken.definition, "publish:y")


def test_an_offer_of_many_events_is_large_and_hides_none() -> None:
    many = [registered("stock", TAKES, f"x{n}") for n in range(LARGE_EVENTS + 1)]
    assert [offer(*many[: LARGE_EVENTS + more]).is_large for more in (0, 1)] == [False, True]
    assert len(offer(*many).events) == LARGE_EVENTS + 1
    long = [registered("stock", TAKES, f"x{n}", description="x" * 9_000) for n in range(LARGE_EVENTS)]
    assert offer(*long).is_large


@pytest.mark.parametrize(("at_once", "possible"), [(None, 9), (2, 2), (1, 0), (0, 0)])
def test_several_requests_are_offered_where_several_may_be_open(at_once: int | None, possible: int) -> None:
    found = make_offer("orders", [registered("stock", TAKES, "x")], [], None, at_once=at_once)
    for number in (2, 9):
        together = publish_all(*[publish("x")] * number)
        assert bool(violations(found.schema, together)) is (number > possible)
        if number > possible:
            with pytest.raises(NotAllowed, match=f"{number} requests were to be published together; (2|one) at"):
                must_be_possible_at_once(parse_decision(together, ""), found)
        else:
            must_be_possible_at_once(parse_decision(together, ""), found)
    must_be_possible_at_once(parse_decision(publish("x"), ""), found)
    assert not violations(found.schema, publish("x"))
