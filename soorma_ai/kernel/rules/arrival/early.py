"""Events of clients that come before their plan waits for them."""

from soorma_ai.errors import Overloaded
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.limits import MOST_EARLY, MOST_EARLY_CHARS


def is_full(count: int, length: int) -> bool:
    return count >= MOST_EARLY or length >= MOST_EARLY_CHARS


def refuse_early(event: EventEnvelope, key: str, count: int, length: int) -> Overloaded:
    """Return the error for one more event of this type; so many are kept, of so many characters."""
    return Overloaded(
        f"{count} events {event.type!r} of {length:,} characters came for {event.plan_id or key} before it waits for "
        f"one, and {MOST_EARLY} or {MOST_EARLY_CHARS:,} are kept: send it when the plan waits"
    )
