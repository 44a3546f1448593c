"""The bound of events that come before their plan waits for them."""

import pytest

from soorma_ai.kernel.domain.limits import MOST_EARLY, MOST_EARLY_CHARS
from soorma_ai.kernel.rules.arrival.early import is_full, refuse_early
from unit.kit import event


@pytest.mark.parametrize(
    ("count", "length", "full"),
    [(MOST_EARLY - 1, MOST_EARLY_CHARS - 1, False), (MOST_EARLY, 0, True), (0, MOST_EARLY_CHARS, True)],
)
def test_early_events_are_bounded_by_number_and_by_length(count: int, length: int, full: bool) -> None:
    assert is_full(count, length) is full


def test_a_refused_early_event_names_its_plan_the_bound_and_the_cure() -> None:
    refused = str(refuse_early(event("order.paid", plan_id="p-1"), "key", 200, 9_000))
    assert "200 events 'order.paid' of 9,000 characters came for p-1" in refused
    assert f"{MOST_EARLY} or {MOST_EARLY_CHARS:,} are kept" in refused
    assert refused.endswith("send it when the plan waits")
