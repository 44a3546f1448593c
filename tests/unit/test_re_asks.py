"""Two re-asks of a model; a cut answer is asked for once more with more tokens, an odd end once."""

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
def test_the_endings_of_unusable_answers_decide_on_another_ask_and_its_room(
    unusable: tuple[Ending, ...], again: bool, room: int
) -> None:
    assert may_ask_again(unusable) is again
    assert room_after(unusable, 100) == room
