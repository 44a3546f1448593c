from dataclasses import replace
from typing import Any

import pytest

from soorma_ai.core.expecting.keys import keys_of_event, keys_of_wait
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.values import JsonObject
from unit.kit import event, plan

PAID = EventDefinition(event_name="order.paid", correlate={"/order_id": "goal_data.order_id"})
PLAN = plan(goal_data={"order_id": "o-1", "shop": {"id": 7}, "nothing": None})


def outside(data: JsonObject, type: str = "order.paid", **changed: Any) -> EventEnvelope:
    return event(type, topic="business-facts", data=data, **changed)


def meets(came: EventEnvelope, definition: EventDefinition, of: PlanRecord = PLAN) -> bool:
    return bool(set(keys_of_event(came, [definition])) & set(keys_of_wait(of, "w-1", definition)))


def test_an_event_finds_a_plan_by_what_its_definition_correlates() -> None:
    assert meets(outside({"order_id": "o-1"}), PAID)
    assert not meets(outside({"order_id": "o-2"}), PAID)
    assert not meets(outside({"order_id": "o-1"}), PAID, replace(PLAN, goal_data={"order_id": "o-2"}))


def test_an_event_of_another_type_finds_nothing_by_the_same_value() -> None:
    sent = replace_name(PAID, "order.sent")
    assert not set(keys_of_event(outside({"order_id": "o-1"}, type="order.sent"), [sent])) & set(
        keys_of_wait(PLAN, "w-1", PAID)
    )


def replace_name(definition: EventDefinition, name: str) -> EventDefinition:
    return definition.model_copy(update={"event_name": name})


@pytest.mark.parametrize("data", [{}, {"order_id": None}])
def test_an_absent_id_does_not_match_another_absent_id(data: JsonObject) -> None:
    assert not meets(outside(data), PAID, replace(PLAN, goal_data={}))
    assert not meets(outside(data), PAID, replace(PLAN, goal_data={"order_id": None}))


def test_values_are_equal_as_json_and_not_as_text() -> None:
    by_shop = EventDefinition(event_name="order.paid", correlate={"/shop": "goal_data.shop.id"})
    assert meets(outside({"shop": 7}), by_shop)
    assert not meets(outside({"shop": "7"}), by_shop)


def test_all_of_several_pointers_must_agree() -> None:
    by_both = EventDefinition(
        event_name="order.paid", correlate={"/order_id": "goal_data.order_id", "/shop/id": "goal_data.shop.id"}
    )
    assert meets(outside({"shop": {"id": 7}, "order_id": "o-1"}), by_both)
    assert not meets(outside({"shop": {"id": 8}, "order_id": "o-1"}), by_both)
    assert not meets(outside({"order_id": "o-1"}), by_both)


def test_the_order_of_pointers_does_not_matter() -> None:
    there = {"/a": "goal_data.order_id", "/b": "goal_data.shop.id"}
    back = dict(reversed(list(there.items())))
    came = outside({"a": "o-1", "b": 7})
    one, other = (EventDefinition(event_name="order.paid", correlate=way) for way in (there, back))
    assert set(keys_of_event(came, [one])) & set(keys_of_wait(PLAN, "w-1", other))


@pytest.mark.parametrize("path", ["plan_id", "goal_id"])
def test_the_plans_own_ids_can_be_correlated(path: str) -> None:
    definition = EventDefinition(event_name="order.paid", correlate={"/reference": path})
    assert meets(outside({"reference": getattr(PLAN, path)}), definition)


def test_an_event_finds_a_plan_by_its_plan_id_or_its_reply_key() -> None:
    plain = EventDefinition(event_name="order.paid")
    assert meets(outside({}, plan_id="p-1"), plain)
    assert meets(outside({}, correlation_id="w-1"), plain)
    assert not meets(outside({}, plan_id="p-2"), plain)
    assert not meets(outside({}, correlation_id="w-2"), plain)
    assert not meets(outside({}), plain)


def test_a_plan_id_is_no_reply_key() -> None:
    """Ids of different kinds never meet, even when they are spelled the same."""
    plain = EventDefinition(event_name="order.paid")
    assert not meets(outside({}, correlation_id="p-1"), plain)
    assert not meets(outside({}, plan_id="w-1"), plain)


def test_several_definitions_of_one_event_give_each_key_once() -> None:
    keys = keys_of_event(outside({"order_id": "o-1"}, plan_id="p-1"), [PAID, PAID, replace_name(PAID, "order.paid")])
    assert len(keys) == len(set(keys)) == 2
