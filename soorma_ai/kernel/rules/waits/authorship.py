"""Events that only the platform publishes, in one list, and the check of all other publishers."""

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.states import ANNOUNCEMENTS
from soorma_ai.kernel.domain.stores import RECEIPT, REQUEST_UNKNOWN
from soorma_ai.kernel.rules.waits.wakeups import WAKE_EVENTS

# Each with its meaning. A wake-up is checked against the row that it names, so that one of an agent moves nothing.
_MEANINGS = {
    **dict.fromkeys(ANNOUNCEMENTS, "tells people what they are asked"),
    **dict.fromkeys(WAKE_EVENTS, "wakes a plan"),
    REQUEST_UNKNOWN: "tells that another store is silent about a request",
    RECEIPT: "tells a store what another one has taken",
}
PLATFORM_ONLY = frozenset(_MEANINGS)
_NO_AUTHORS = PLATFORM_ONLY - WAKE_EVENTS


def check_author(event_type: str) -> None:
    """Raise LocalProtocolError for an event that no client and no agent publishes."""
    if event_type in _NO_AUTHORS:
        raise LocalProtocolError(platform_only(event_type))


def platform_only(event_type: str) -> str:
    """Return the reason why nobody else publishes this event; empty for any other event."""
    meaning = _MEANINGS.get(event_type)
    return f"{event_type!r} {meaning}; only the platform publishes it" if meaning else ""
