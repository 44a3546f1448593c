"""Events that come before their plan waits for them are bounded by number and by length."""

import pytest

from soorma_ai.kernel.domain.limits import MOST_EARLY, MOST_EARLY_CHARS
from soorma_ai.kernel.rules.arrival.early import is_full, refuse_early
from unit.kit import event


@pytest.mark.parametrize(
    ("count", "length", "full"),
    [(0, 0, False), (MOST_EARLY - 1, 9, False), (MOST_EARLY, 9, True), (1, MOST_EARLY_CHARS, True)],
)
def test_so_many_are_kept(count: int, length: int, full: bool) -> None:
    assert is_full(count, length) is full


def test_the_refusal_says_what_is_kept_and_what_to_do() -> None:
    words = str(refuse_early(event("slot.chosen"), "key-1", MOST_EARLY, 5_000))
    assert "200 events 'slot.chosen' of 5,000 characters" in words and "send it when the plan waits" in words
