import pytest

from soorma_ai.domain.conditions import ALWAYS, applies, check_condition
from soorma_ai.domain.values import JsonObject
from soorma_ai.errors import ConfigError

ORDER: JsonObject = {"amount": 120, "currency": "EUR", "items": [{"sku": "a", "qty": 2}], "note": None}
GOAL: JsonObject = {"customer": {"tier": "gold"}, "amount": 5}


@pytest.mark.parametrize(
    ("condition", "needed"),
    [
        ("payload.amount > 100", True),
        ("payload.amount > 120", False),
        ("payload.currency == 'EUR' && payload.amount < 1000", True),
        ("payload.items.exists(item, item.qty > 1)", True),
        ("context.customer.tier != 'gold'", False),
        ("context.amount < payload.amount", True),
        ("has(payload.missing)", False),
        ("payload.note == null", True),
        ("payload.amount > 100 || payload.missing > 1", True),
        ("payload.amount > 1000 && payload.missing > 1", False),
        (ALWAYS, True),
    ],
)
def test_a_condition_sees_the_payload_and_the_goals_data(condition: str, needed: bool) -> None:
    assert applies(condition, ORDER, GOAL) is needed
    check_condition(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "payload.missing > 100",
        "payload.currency > 100",
        "payload.items[7].qty > 1",
        "payload.amount / 0 > 1",
        "payload.amount * 9223372036854775807 > 1",
        "int(payload.currency) > 1",
        "unknown_name > 1",
        "payload.amount",
        "null",
        "matches(payload.currency, '(')",
    ],
)
def test_a_condition_that_cannot_be_decided_asks_a_person(condition: str) -> None:
    assert applies(condition, ORDER, GOAL)


@pytest.mark.parametrize("written", ["payload.amount >", "payload amount", "", "(", "always!", "import('os')"])
def test_what_is_no_expression_is_refused_before_anything_runs(written: str) -> None:
    with pytest.raises(ConfigError, match="neither 'always' nor a CEL expression"):
        check_condition(written)


@pytest.mark.parametrize("reach", ["open('/etc/hostname')", "payload.__class__", "context.clear()"])
def test_a_condition_reaches_nothing_but_its_two_values(reach: str) -> None:
    """What it cannot decide asks a person, so nothing was let through and nothing was touched."""
    goal: JsonObject = {"kept": True}
    assert applies(reach, {}, goal)
    assert goal == {"kept": True}
