"""Two re-asks; a cut answer is asked for once more, with more room; an odd end is re-asked once."""

import pytest

from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.rules.decisions.circuit import may_ask_again, room_after

GOOD, CUT, ODD = Ending.GOOD, Ending.CUT, Ending.ODD


@pytest.mark.parametrize(
    ("unusable", "again", "room"),
    [
        ((GOOD,), True, 100),
        ((GOOD, GOOD), True, 100),
        ((GOOD, GOOD, GOOD), False, 100),
        ((CUT,), True, 200),
        ((CUT, CUT), False, 200),
        ((CUT, GOOD, GOOD), True, 200),
        ((CUT, GOOD, GOOD, GOOD), False, 200),
        ((GOOD, GOOD, CUT), True, 200),
        ((GOOD, CUT, CUT), False, 200),
        ((ODD,), True, 100),
        ((ODD, ODD), False, 100),
        ((ODD, GOOD, ODD), False, 100),
        ((GOOD, ODD, GOOD), False, 100),
        ((ODD, CUT), True, 200),
    ],
)
def test_how_often_is_told_by_how_the_answers_ended(unusable: tuple[Ending, ...], again: bool, room: int) -> None:
    assert may_ask_again(unusable) is again
    assert room_after(unusable, 100) == room
