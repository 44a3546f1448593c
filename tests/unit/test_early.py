"""Events before their wait: bounds in number and in length."""

import pytest

from soorma_ai.kernel.domain.limits import MOST_EARLY, MOST_EARLY_CHARS
from soorma_ai.kernel.rules.arrival.early import is_full, refuse_early
from unit.kit import event


@pytest.mark.parametrize(
    ("count", "length", "full"),
    [(0, 0, False), (MOST_EARLY - 1, 9, False), (MOST_EARLY, 9, True), (1, MOST_EARLY_CHARS, True)],
)
def test_early_events_are_bounded_in_number_and_length(count: int, length: int, full: bool) -> None:
    assert is_full(count, length) is full


def test_the_refusal_of_an_early_event_names_the_kept_ones_and_the_cure() -> None:
    words = str(refuse_early(event("slot.chosen"), "key-1", MOST_EARLY, 5_000))
    assert "200 events 'slot.chosen' of 5,000 characters" in words and "send it when the plan waits" in words
