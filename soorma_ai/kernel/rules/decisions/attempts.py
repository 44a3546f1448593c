"""Number of times that a model is asked for one thing, and the room that it gets."""

from collections.abc import Sequence

from soorma_ai.kernel.domain.history import Ending

MAX_REASKS = 2


def may_ask_again(unusable: Sequence[Ending]) -> bool:
    """Tell whether to ask after answers that ended so and could not be used, the last of them just now. One that was
    cut is asked for once more with more room, which is no re-ask; one that ended in an odd way is re-asked once."""
    last = unusable[-1]
    reasks = sum(ending is not Ending.CUT for ending in unusable)
    return reasks <= MAX_REASKS and (last is Ending.GOOD or unusable.count(last) == 1)


def room_after(unusable: Sequence[Ending], usual: int) -> int:
    """Return the tokens that the next answer may take."""
    return usual * 2 if Ending.CUT in unusable else usual
