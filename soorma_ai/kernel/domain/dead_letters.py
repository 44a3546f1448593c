"""Dead letters: deliveries that could not be handled."""

from soorma_ai.errors import SoormaError
from soorma_ai.kernel.domain.values import clip

NOBODY = ""  # the agent of a letter whose event could be brought to no agent
CANNOT_ARRIVE = "cannot_arrive"
MOST_OF_A_REASON = 500


def cannot_arrive(error: Exception) -> str:
    """Return the reason to set aside an event that would fail at every arrival."""
    code = error.code if isinstance(error, SoormaError) else type(error).__name__
    return clip(" ".join(f"{CANNOT_ARRIVE}: {code}: {error}".split()), MOST_OF_A_REASON)
