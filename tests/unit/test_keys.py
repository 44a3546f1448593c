from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.waits.opening import keys_of_event, keys_of_wait
from unit.kit import event, plan

PAID = EventDefinition(event_name="order.paid", correlate={"/order_id": "goal_data.order_id"})
PLAN = plan(goal_data={"order_id": "o-1", "shop": {"id": 7}, "nothing": None})


def outside(data: JsonObject, type: str = "order.paid", **changed: Any) -> EventEnvelope:
    return event(type, topic="business-facts", data=data, **changed)


def definition_with(**pointers: str) -> EventDefinition:
    return EventDefinition(
        event_name="order.paid", correlate={f"/{at.replace('_', '/')}": path for at, path in pointers.items()}
    )


PLAIN, BY_SHOP = definition_with(), definition_with(shop="goal_data.shop.id")
BY_BOTH = definition_with(order="goal_data.order_id", shop_id="goal_data.shop.id")
OTHER_WAY = definition_with(shop_id="goal_data.shop.id", order="goal_data.order_id")
WITHOUT, WITH_NONE = replace(PLAN, goal_data={}), replace(PLAN, goal_data={"order_id": None})


def meets(came: EventEnvelope, definition: EventDefinition, of: PlanRecord = PLAN, awaited: Any = None) -> bool:
    return bool(set(keys_of_event(came, [definition])) & set(keys_of_wait(of, "w-1", awaited or definition)))


@pytest.mark.parametrize(
    ("came", "definition", "of", "is_met"),
    [
        (outside({"order_id": "o-1"}), PAID, PLAN, True),
        (outside({"order_id": "o-2"}), PAID, PLAN, False),
        (outside({"order_id": "o-1"}), PAID, replace(PLAN, goal_data={"order_id": "o-2"}), False),
        # An absent id does not match another absent id.
        (outside({}), PAID, WITHOUT, False),
        (outside({}), PAID, WITH_NONE, False),
        (outside({"order_id": None}), PAID, WITHOUT, False),
        (outside({"order_id": None}), PAID, WITH_NONE, False),
        # Values are equal as JSON and not as text.
        (outside({"shop": 7}), BY_SHOP, PLAN, True),
        (outside({"shop": "7"}), BY_SHOP, PLAN, False),
        # All of several pointers must agree.
        (outside({"shop": {"id": 7}, "order": "o-1"}), BY_BOTH, PLAN, True),
        (outside({"shop": {"id": 8}, "order": "o-1"}), BY_BOTH, PLAN, False),
        (outside({"order": "o-1"}), BY_BOTH, PLAN, False),
        # The plan's own ids can be correlated, or named by the event; ids of different kinds never meet.
        (outside({"reference": PLAN.plan_id}), definition_with(reference="plan_id"), PLAN, True),
        (outside({"reference": PLAN.goal_id}), definition_with(reference="goal_id"), PLAN, True),
        (outside({}, plan_id="p-1"), PLAIN, PLAN, True),
        (outside({}, correlation_id="w-1"), PLAIN, PLAN, True),
        (outside({}, plan_id="p-2"), PLAIN, PLAN, False),
        (outside({}, correlation_id="w-2"), PLAIN, PLAN, False),
        (outside({}), PLAIN, PLAN, False),
        (outside({}, correlation_id="p-1"), PLAIN, PLAN, False),
        (outside({}, plan_id="w-1"), PLAIN, PLAN, False),
    ],
)
def test_an_event_meets_a_wait_by_correlated_values_or_by_an_id(
    came: EventEnvelope, definition: EventDefinition, of: PlanRecord, is_met: bool
) -> None:
    assert meets(came, definition, of) is is_met


def test_another_type_meets_nothing_pointer_order_is_irrelevant_and_keys_are_unique() -> None:
    sent = PAID.model_copy(update={"event_name": "order.sent"})
    assert not meets(outside({"order_id": "o-1"}, type="order.sent"), sent, awaited=PAID)
    assert meets(outside({"shop": {"id": 7}, "order": "o-1"}), BY_BOTH, awaited=OTHER_WAY)
    keys = keys_of_event(outside({"order_id": "o-1"}, plan_id="p-1"), [PAID, PAID, PAID.model_copy()])
    assert len(keys) == len(set(keys)) == 2
