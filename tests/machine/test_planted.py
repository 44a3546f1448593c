"""The state machine finds each planted bug within a few histories."""

import pytest
from hypothesis import Phase, settings

from machine.planted import PLANTED
from machine.rules import Machine, histories

SEED = 5
AT_MOST = 150


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str) -> None:
    class Buggy(Machine):
        make_store = PLANTED[bug]

    with pytest.raises(AssertionError) as found:
        histories(Buggy, SEED, settings(max_examples=AT_MOST, phases=[Phase.generate], report_multiple_bugs=False))
    assert str(found.value)
