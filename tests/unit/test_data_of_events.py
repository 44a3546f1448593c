"""Data of an event: its own copy, whatever its maker does with the value later."""

from datetime import UTC, datetime
from typing import Any

import pytest

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage, new_event

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def make(data: Any) -> EventEnvelope:
    return new_event(
        Lineage(), event_id="e-1", source="shop", topic=EventTopic.BUSINESS_FACTS, type="sold", data=data, time=NOON
    )


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels else {}


@pytest.mark.parametrize("data", [{}, {"a": [1, {"b": None}]}, {"null": "null"}, {"a": "[" * 500}, nested(90)])
def test_an_event_has_a_copy_of_its_data(data: dict[str, Any]) -> None:
    made = make(data)
    assert made.data == data
    assert type(made.data) is dict
    data["later"] = True
    assert "later" not in made.data


def test_nested_values_of_an_event_are_copied() -> None:
    inner = {"b": [1]}
    made = make({"a": inner})
    inner["b"].append(2)
    assert made.data == {"a": {"b": [1]}}


@pytest.mark.parametrize(
    "data", [{"a": float("nan")}, nested(200), {"a": "\ud800"}], ids=["no number", "too deep", "no Unicode"]
)
def test_data_that_cannot_be_kept_make_no_event(data: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        make(data)
