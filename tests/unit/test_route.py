"""Routing of an event to its most exact handler."""

from dataclasses import dataclass

import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.rules.delivery.route import fits, is_pattern, patterns_of, route

FACTS = EventTopic.BUSINESS_FACTS


@dataclass(frozen=True)
class FakeHandler:
    event_type: str
    topic: EventTopic | None = FACTS
    continues: bool = False


def pattern_for(event_type: str, *patterns: str, topic: EventTopic = FACTS) -> str | None:
    event = EventEnvelope.model_validate(
        {"id": "e", "source": "s", "type": event_type, "topic": topic, "time": "2030-01-01T00:00:00Z"}
    )
    found = route([FakeHandler(pattern) for pattern in patterns], event, agent="a", owner="e")
    return found.event_type if found else None


@pytest.mark.parametrize(
    ("event_type", "patterns"),
    [
        ("order.paid.late", ["order.paid.late", "order.paid.*", "order.*", "*"]),
        ("order", ["order", "*"]),
        ("a..b", ["a..b", "a..*", "a.*", "*"]),
    ],
)
def test_an_event_matches_its_name_its_families_and_the_star(event_type: str, patterns: list[str]) -> None:
    assert list(patterns_of(event_type)) == patterns


@pytest.mark.parametrize(
    ("event_type", "expected"),
    [
        ("order.paid", "order.paid"),
        ("order.paid.late", "order.paid.*"),
        ("order.sent", "order.*"),
        ("order", "*"),
        ("orders.sent", "*"),
    ],
)
def test_exact_comes_before_the_family_and_the_family_before_any(event_type: str, expected: str) -> None:
    patterns = ("*", "order.*", "order.paid.*", "order.paid")
    assert pattern_for(event_type, *patterns) == pattern_for(event_type, *reversed(patterns)) == expected


def test_a_family_has_its_topic_and_not_its_own_name() -> None:
    assert pattern_for("order.paid", "order.*", topic=EventTopic.ACTION_REQUESTS) is None
    assert pattern_for("order", "order.*") is None


@pytest.mark.parametrize("event_type", ["*", "order.*", "order.paid.*"])
def test_a_final_star_makes_a_pattern(event_type: str) -> None:
    assert is_pattern(event_type)
    assert not is_pattern(event_type.replace("*", "x"))


@pytest.mark.parametrize("pattern", ["*", "order.*", "order.paid.*", "order.paid", "a.*"])
@pytest.mark.parametrize("event_type", ["order.paid", "order.paid.late", "order", "orders.sent", "a..b"])
def test_a_pattern_fits_exactly_the_names_it_matches(pattern: str, event_type: str) -> None:
    assert fits(pattern, event_type) is (pattern in patterns_of(event_type))


@pytest.mark.parametrize("event_type", ["order*", "*.paid", "order.*.paid", "**", ".*", "order.**"])
def test_a_star_at_another_place_is_refused(event_type: str) -> None:
    with pytest.raises(ConfigError, match=r"'order\.\*'"):
        is_pattern(event_type)
